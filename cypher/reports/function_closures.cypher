// name: function-closures
// title: Closures of Python by function, and what their cells retain
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: function         STRING   full name of the function; null if the dump has none
// column: closure_count    INTEGER  reachable closures of it
// column: cell_count       INTEGER  distinct cells of those closures
// column: cell_bytes       INTEGER  sum of the retained sizes of the cells, bytes
// column: largest_address  STRING   address of the closure with the largest retained size
//
// A closure holds the variables of the function around it that it uses, each in a cell,
// which other closures of the same call share. Many closures of one function are often
// callbacks that nobody removed. What something else holds too is not counted; a cell whose
// closure another one holds is counted with both. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(f:Object)-[r:REFERENCES]->(cells:Object)
WHERE t.dump = $dump AND t.name = 'function' AND f.root_distance IS NOT NULL
  AND r.field = '__closure__'
MATCH (cells)-[:INSTANCE_OF]->(ct:Type)
WHERE ct.name = 'tuple'
MATCH (cells)-[:REFERENCES]->(cell:Object)-[:INSTANCE_OF]->(t2:Type)
WHERE t2.name = 'cell'
WITH f, cell
ORDER BY f.retained_bytes DESC, f.key
WITH f.value AS function, count(DISTINCT f) AS closure_count,
  collect(DISTINCT cell) AS cells, collect(f)[0] AS largest
WITH function, closure_count, cells, largest,
  reduce(sum = 0, cell IN cells | sum + cell.retained_bytes) AS cell_bytes
RETURN
  function,
  closure_count,
  size(cells) AS cell_count,
  cell_bytes,
  largest.address AS largest_address
ORDER BY cell_bytes DESC, closure_count DESC, largest.key
LIMIT $limit
