// name: class-loaders
// title: Class loaders, and what their classes take
// group: JVM
// needs: loaders
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: loader_type     STRING   type of the class loader; <bootstrap> for that of the VM
// column: address         STRING   its address; null for that of the VM
// column: class_count     INTEGER  classes that it has loaded
// column: repeated_count  INTEGER  of those, classes that another loader of its type has too
// column: instance_count  INTEGER  instances of its classes
// column: shallow_bytes   INTEGER  shallow size of those, bytes
// column: retained_bytes  INTEGER  retained size of the loader: freed if it is freed, bytes
// column: alive           BOOLEAN  whether a root reaches the loader; that of the VM is never freed
//
// Several loaders of one type with the same classes are an application that was
// deployed more than once, or a plug-in of which old versions were not unloaded: each
// keeps all its classes and their static fields alive. repeated-classes lists those
// classes. For a loader that should have gone, shortest-root-path of its address
// shows what keeps it: often a thread, a ThreadLocal or a listener.
MATCH (t:Type)
WHERE t.dump = $dump AND t.class_address IS NOT NULL
WITH coalesce(t.loader_address, '') AS address, collect(t) AS types,
  sum(t.instance_count) AS instance_count, sum(t.shallow_bytes) AS shallow_bytes
OPTIONAL MATCH (l:Object {dump: $dump, address: address})
OPTIONAL MATCH (l)-[:INSTANCE_OF]->(lt:Type)
WITH address = '' AS is_of_vm, l, lt, types, instance_count, shallow_bytes
UNWIND types AS t
WITH is_of_vm, lt, t.name AS name,
  collect([l, instance_count, shallow_bytes, size(types)]) AS by
UNWIND by AS one
WITH is_of_vm, lt, one[0] AS l, one[1] AS instance_count, one[2] AS shallow_bytes,
  one[3] AS class_count,
  sum(CASE WHEN lt IS NOT NULL AND size(by) > 1 THEN 1 ELSE 0 END) AS repeated_count
RETURN
  CASE WHEN is_of_vm THEN '<bootstrap>' ELSE lt.name END AS loader_type,
  l.address AS address,
  class_count,
  repeated_count,
  instance_count,
  shallow_bytes,
  l.retained_bytes AS retained_bytes,
  is_of_vm OR l.root_distance IS NOT NULL AS alive
ORDER BY repeated_count DESC, coalesce(retained_bytes, 0) DESC, class_count DESC, l.key
LIMIT $limit
