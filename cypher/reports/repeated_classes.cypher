// name: repeated-classes
// title: Classes that several class loaders have loaded
// group: JVM
// needs: loaders
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type              STRING        full name of the class
// column: loader_count      INTEGER       class loaders that have a class of that name
// column: loader_types      LIST<STRING>  their types
// column: instance_count    INTEGER       instances of all these classes
// column: shallow_bytes     INTEGER       their shallow size, bytes
// column: loader_addresses  LIST<STRING>  addresses of the loaders, five at most
//
// To the VM these are different classes: an object of one cannot be cast to another,
// and each has its own static fields. A name with many loaders of one type is a
// plug-in or deployment that was not unloaded: see class-loaders.
MATCH (t:Type)
WHERE t.dump = $dump AND t.class_address IS NOT NULL
WITH t.name AS type, t
ORDER BY type, t.key
WITH type, collect(DISTINCT t.loader_address) AS loaders,
  count(DISTINCT coalesce(t.loader_address, '')) AS loader_count,
  sum(t.instance_count) AS instance_count, sum(t.shallow_bytes) AS shallow_bytes
WHERE loader_count > 1
ORDER BY loader_count DESC, shallow_bytes DESC, type
LIMIT $limit
RETURN
  type,
  loader_count,
  COLLECT {
    UNWIND loaders AS address
    MATCH (l:Object {dump: $dump, address: address})-[:INSTANCE_OF]->(lt:Type)
    RETURN DISTINCT lt.name AS name
    ORDER BY name
  } AS loader_types,
  instance_count,
  shallow_bytes,
  loaders[..5] AS loader_addresses
ORDER BY loader_count DESC, shallow_bytes DESC, type
LIMIT $limit
