// name: finalizer-queue
// title: Objects waiting for their finalizer
// group: .NET
// needs: finalizers
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type              STRING   full type name
// column: address           STRING   hexadecimal, as a debugger prints it
// column: shallow_bytes     INTEGER  shallow size, bytes
// column: retained_bytes    INTEGER  retained size, bytes: freed if the object is freed
// column: other_root_count  INTEGER  strong roots of other kinds that refer to it
// column: holder_count      INTEGER  reachable objects that refer to it, not counting itself
//
// The queue keeps these objects and everything they retain alive until their
// finalizers have run. A long queue of objects that nothing else refers to (both
// counts are 0) means that finalizers are slow or blocked, or that objects are not
// disposed of in time: look up the type and call its Dispose.
// finalizable-unreachable adds those up by type, together with those that only other
// objects of the queue refer to.
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
