// name: java-finalizers
// title: Objects with a finalizer, by type
// group: JVM
// needs: jvm
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name
// column: object_count     INTEGER  objects whose finalizer has not ended
// column: waiting_count    INTEGER  of those, objects that wait for the finalizer thread
// column: only_count       INTEGER  of all, objects that nothing but their finalizer holds
// column: retained_bytes   INTEGER  sum of the retained sizes of the objects, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// One thread runs all finalizers, one after the other: a slow one keeps every object
// behind it alive, with all that it refers to. Many waiting objects mean that this
// has happened; threads shows what the thread named Finalizer does. Close resources
// in the program, and replace finalize by java.lang.ref.Cleaner.
MATCH (t:Type)
WHERE t.dump = $dump
  AND t.name IN ['java.lang.ref.Finalizer', 'java.lang.ref.FinalizerReference']
MATCH (f:Object)-[:INSTANCE_OF]->(t)
MATCH (f)-[r:REFERENCES|WEAKLY_REFERENCES]->(o:Object)
WHERE r.field = 'referent' AND f.root_distance IS NOT NULL
WITH f, o,
  EXISTS {
    MATCH (f)-[:REFERENCES {field: 'queue'}]->(:Object)-[:INSTANCE_OF]->(q:Type)
    WHERE q.name STARTS WITH 'java.lang.ref.ReferenceQueue$'
  } AS waiting
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(ot:Type)
WITH o, waiting, coalesce(ot.name, o.type_name) AS type,
  NOT EXISTS {
    MATCH (o)<-[:REFERENCES]-(h:Object|Root)
    WHERE h <> f AND h <> o AND (h:Root OR h.root_distance IS NOT NULL)
      AND NOT EXISTS { (o)-[:DOMINATES]->(h) }
  } AS only
ORDER BY o.retained_bytes DESC, o.key
RETURN
  type,
  count(o) AS object_count,
  sum(CASE WHEN waiting THEN 1 ELSE 0 END) AS waiting_count,
  sum(CASE WHEN only THEN 1 ELSE 0 END) AS only_count,
  sum(o.retained_bytes) AS retained_bytes,
  collect(o.address)[0] AS largest_address
ORDER BY retained_bytes DESC, object_count DESC, type
LIMIT $limit
