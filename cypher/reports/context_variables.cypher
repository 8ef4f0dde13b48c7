// name: context-variables
// title: Values of context variables, and what they retain
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: variable         STRING   name of the ContextVar
// column: value_count      INTEGER  distinct objects that reachable contexts have for it
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// Each thread, and each task of asyncio, has a context; a value lives as long as any of
// them. Tasks copy the context in which they are made, so one that never ends keeps the
// values of its maker. Defaults are no values of a context. Variables of one name are one
// row. What several contexts hold is retained by none. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(c:Object)
WHERE t.dump = $dump AND t.name IN ['ContextVar', '_contextvars.ContextVar']
  AND c.root_distance IS NOT NULL
MATCH (c)<-[:REFERENCES]-(n:Object)-[:INSTANCE_OF]->(nt:Type)
WHERE n.root_distance IS NOT NULL
  AND nt.name IN ['hamt_bitmap_node', 'hamt_collision_node']
WITH DISTINCT c, n
MATCH (n)-[r:REFERENCES]->(v:Object)
WHERE r.field = c.value
WITH DISTINCT c.value AS variable, v
ORDER BY v.retained_bytes DESC, v.key
WITH variable, count(*) AS value_count, sum(v.retained_bytes) AS retained_bytes,
  collect(v)[0] AS largest
RETURN
  variable,
  value_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, value_count DESC, largest.key, variable
LIMIT $limit
