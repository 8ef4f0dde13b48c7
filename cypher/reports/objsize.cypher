// name: objsize
// title: Everything reachable from an object, compared with what it retains
// group: Ownership
// mode: read
// param: dump     INTEGER       number of the dump
// param: address  STRING        address of the object, for example 0x1c15d2
// param: limit    INTEGER = 20  maximum number of rows
// column: domain          INTEGER  ordinal of its domain; null if the dump has only one
// column: type            STRING   full type name
// column: reached_count   INTEGER  objects reachable from it by strong references, including itself
// column: reached_bytes   INTEGER  their shallow size, bytes: what `!objsize` prints
// column: retained_count  INTEGER  of those, objects that are freed with it
// column: retained_bytes  INTEGER  their shallow size, bytes
// column: shared_bytes    INTEGER  reached bytes that something else keeps alive as well
//
// Reached bytes include everything reachable from the object, even if it is also
// reachable by other paths: an object that refers to the services of a program
// reaches nearly the entire heap. Retained bytes are what is freed with the object.
// Unreachable objects retain nothing here. For all objects of a type, or for several
// objects together, use the command `ingest objsize`.
MATCH (o:Object {dump: $dump, address: $address})
CALL (o) {
  MATCH (o)-[:REFERENCES*0..1000000]->(x)
  WITH DISTINCT x
  RETURN count(*) AS reached_count, sum(x.shallow_bytes) AS reached_bytes
}
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
