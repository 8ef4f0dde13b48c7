// name: finalizable-unreachable
// title: Objects kept alive only by the finalizer queue, by type
// group: .NET
// needs: finalizers
// mode: read
// searched: the 500 that retain most of the queued objects that others refer to
// more: COUNT { (d)-[:HAS_ROOT]->(r:Root) WHERE r.kind = 'finalizer_queue' } > 500
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   full type name
// column: object_count     INTEGER  objects in the queue that nothing else keeps alive
// column: shallow_bytes    INTEGER  their shallow size, bytes
// column: retained_bytes   INTEGER  freed once their finalizers have run, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// The program no longer refers to these objects, nor to anything they retain, but
// their finalizers have not run yet: garbage that survives one more collection.
// Calling Dispose in time, which suppresses the finalizer, avoids this; where they
// accumulate, finalizers are slow or one of them is blocked. An object counts if all
// its strong roots are entries of the queue, and each reachable object that refers
// to it is freed with it or with another such object. The numbers are lower bounds:
// what two of them keep alive together is left out, and of longer chains and of
// cycles only the 500 with the largest retained sizes are examined (a chain of more
// than 30 counts even if its end is alive). No two of them retain the same bytes.
// finalizer-queue lists all objects in the queue.
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(o:Object)
WHERE r.kind = 'finalizer_queue'
WITH DISTINCT o
WHERE NOT EXISTS {
  MATCH (o)<-[:REFERENCES]-(other:Root)
  WHERE other.kind <> 'finalizer_queue'
}
CALL (o) {
  OPTIONAL MATCH (o)<-[:REFERENCES]-(h:Object)<-[:DOMINATES*0..100000]-(top:Object)
  WHERE h.root_distance IS NOT NULL AND top <> o AND EXISTS { (top)<-[:DOMINATES]-(:Dump) }
  RETURN collect(DISTINCT top) AS holders
}
WITH o, holders
ORDER BY size(holders) > 0, o.retained_bytes DESC, o.key
WITH collect({object: o, holders: holders}) AS queued
WITH [q IN queued WHERE size(q.holders) = 0 | q.object] AS alone,
  [q IN queued WHERE size(q.holders) > 0] AS held
CALL (held) {
  UNWIND held AS q
  UNWIND q.holders AS top
  WITH q.object AS o, top, EXISTS {
      MATCH (top)<-[:REFERENCES]-(other:Root)
      WHERE other.kind <> 'finalizer_queue'
    } OR EXISTS {
      MATCH (top)<-[:REFERENCES]-(h:Object)<-[:DOMINATES*0..100000]-(above:Object)
      WHERE h.root_distance IS NOT NULL AND above <> top
        AND EXISTS { (above)<-[:DOMINATES]-(:Dump) }
    } AS waits
  WITH o, collect(CASE WHEN waits THEN top.key END) AS waits
  ORDER BY o.retained_bytes DESC, o.key
  RETURN collect(CASE WHEN waits = [] THEN o END) AS next,
    collect(CASE WHEN waits <> [] THEN {object: o, key: o.key, waits: waits} END)[..500]
      AS asked
}
WITH alone + next AS alone, asked, [o IN next | o.key] AS known
WITH alone, [
    a IN asked | {object: a.object, key: a.key, waits: [k IN a.waits WHERE NOT k IN known]}
  ] AS asked
WITH alone, asked, reduce(
    left = [a IN asked | a.key], round IN range(1, 30) |
    [a IN asked WHERE all(key IN a.waits + a.key WHERE key IN left) | a.key]
  ) AS left
UNWIND alone + [a IN asked WHERE a.key IN left | a.object] AS o
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
WITH coalesce(t.name, o.type_name) AS type, o
ORDER BY o.retained_bytes DESC, o.key
RETURN
  type,
  count(o) AS object_count,
  sum(o.shallow_bytes) AS shallow_bytes,
  sum(o.retained_bytes) AS retained_bytes,
  collect(o.address)[0] AS largest_address
ORDER BY retained_bytes DESC, object_count DESC, type
LIMIT $limit
