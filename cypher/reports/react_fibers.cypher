// name: react-fibers
// title: Fibers of React by component
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: component         STRING   name and place of the component, or name of the element; null for others
// column: fiber_count       INTEGER  reachable fibers
// column: parentless_count  INTEGER  of those, fibers without a parent: tops of trees, and what was unmounted
// column: shallow_bytes     INTEGER  their shallow size, bytes
// column: retained_bytes    INTEGER  the largest retained size among them, bytes
// column: largest_address   STRING   address of that one
//
// A fiber is what React has of a component or an element on the page, often twice: one for
// what is shown, one for what comes next. React takes the parent from a fiber that it
// unmounts; where many without a parent are alive, something of the program holds them, such
// as a reference to an element. Builds for production may name the type of fibers in another
// way, and then have no row. Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(f:Object)
WHERE t.dump = $dump AND t.name = 'FiberNode' AND f.root_distance IS NOT NULL
OPTIONAL MATCH (f)-[rc:REFERENCES]->(c:Object)-[:INSTANCE_OF]->(ct:Type)
WHERE rc.field = 'type' AND ct.name IN ['Function', '(string)']
WITH t, f, min(c.value) AS component
WITH component, f,
  EXISTS { MATCH (f)-[rp:REFERENCES]->(p:Object) WHERE rp.field = 'return'
    AND EXISTS { (p)-[:INSTANCE_OF]->(t) } } AS has_parent
ORDER BY f.retained_bytes DESC, f.key
WITH component, count(f) AS fiber_count,
  sum(CASE WHEN has_parent THEN 0 ELSE 1 END) AS parentless_count,
  sum(f.shallow_bytes) AS shallow_bytes, collect(f)[0] AS largest
RETURN
  component,
  fiber_count,
  parentless_count,
  shallow_bytes,
  largest.retained_bytes AS retained_bytes,
  largest.address AS largest_address
ORDER BY fiber_count DESC, parentless_count DESC, largest.key
LIMIT $limit
