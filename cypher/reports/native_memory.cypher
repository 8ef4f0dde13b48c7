// name: native-memory
// title: Objects outside the heap of V8, by type
// group: JavaScript
// needs: v8, spaces
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name
// column: object_count     INTEGER  reachable objects that are not in the heap of V8
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: largest_address  STRING   address of the one with the largest shallow size
//
// What V8 tells of memory that is not its own: data of array buffers and strings, nodes and
// styles of a page, handles and streams of Node.js. It is in no limit of the heap, and the
// collector of V8 does not know how large it is. What a library of C allocates and does not
// tell V8 is not in a snapshot. Continue with array-buffers, detached-dom or why.
MATCH (t:Type)<-[:INSTANCE_OF]-(o:Object)
WHERE t.dump = $dump AND o.space = 'native' AND o.root_distance IS NOT NULL
WITH t, o
ORDER BY o.shallow_bytes DESC, o.key
WITH t, count(o) AS object_count, sum(o.shallow_bytes) AS shallow_bytes,
  collect(o.address)[0] AS largest_address
RETURN
  t.name AS type,
  object_count,
  shallow_bytes,
  largest_address
ORDER BY shallow_bytes DESC, object_count DESC, t.key
LIMIT $limit
