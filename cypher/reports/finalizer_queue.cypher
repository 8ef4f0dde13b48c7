// name: finalizer-queue
// title: Objects that wait for their finalizer
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: type              STRING   full name of its type
// column: address           STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes     INTEGER  its own bytes
// column: retained_bytes    INTEGER  what would be freed if it went, bytes
// column: other_root_count  INTEGER  strong roots of other kinds that hold it too
// column: holder_count      INTEGER  reachable objects that refer to it, itself left out
//
// The queue keeps these objects, and all that they retain, until their finalizer has
// run. A long queue of objects that nothing else holds (both counts 0) means that
// finalizers are slow or stuck, or that something is not disposed of in time: look
// for the type and call its Dispose. finalizable-unreachable adds those up by type,
// with those that only other objects of the queue hold.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(o:Object)
WHERE r.kind = 'finalizer_queue'
WITH DISTINCT o
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  o.shallow_bytes AS shallow_bytes,
  o.retained_bytes AS retained_bytes,
  COUNT {
    MATCH (o)<-[:REFERENCES]-(other:Root)
    WHERE other.kind <> 'finalizer_queue'
  } AS other_root_count,
  COUNT {
    MATCH (o)<-[:REFERENCES]-(h:Object)
    WHERE h <> o AND h.root_distance IS NOT NULL
    RETURN DISTINCT h
  } AS holder_count
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
