// name: objsize
// title: All that an object reaches, shared or not, beside what it retains
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        of the object, as the dump has it: 0x1c15d2
// param: limit    INTEGER = 20  most rows to return
// column: domain           INTEGER  ordinal of its domain; null where the dump has one
// column: type             STRING   full name of its type
// column: reached_count    INTEGER  objects that it reaches by strong references, itself too
// column: reached_bytes    INTEGER  bytes of those: what `!objsize` prints
// column: retained_count   INTEGER  of those, that go with it
// column: retained_bytes   INTEGER  bytes of those
// column: shared_bytes     INTEGER  reached bytes that something else keeps as well
//
// Reached bytes count whatever the object can get at, even if others hold it too: an
// object that refers to the program's services reaches nearly all of the heap.
// Retained bytes are what goes when the object goes. Garbage retains nothing here.
MATCH (o:Object {dump: $dump, address: $address})
MATCH (o)-[:REFERENCES*0..1000000]->(x:Object)
WITH DISTINCT o, x
WITH o, count(x) AS reached_count, sum(x.shallow_bytes) AS reached_bytes
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
RETURN
  o.domain AS domain,
  coalesce(t.name, o.type_name) AS type,
  reached_count,
  reached_bytes,
  o.retained_count AS retained_count,
  o.retained_bytes AS retained_bytes,
  reached_bytes - o.retained_bytes AS shared_bytes
ORDER BY o.key
LIMIT $limit
