// name: threads
// title: Threads, what they retain, and the local that holds most
// group: JVM
// needs: threads
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: thread          STRING   name of the thread
// column: type            STRING   full type name of the thread object
// column: address         STRING   its address
// column: retained_bytes  INTEGER  its retained size, with ThreadLocal values, bytes
// column: local_count     INTEGER  objects that locals of its frames refer to, without threads
// column: locals_bytes    INTEGER  sum of the retained sizes of those that nothing else holds, bytes
// column: local_type      STRING   type of the one of these with the largest retained size
// column: local_address   STRING   its address
// column: local_bytes     INTEGER  its retained size, bytes
// column: frame           STRING   stack frame that has it
//
// What a thread keeps alive while it runs: its own fields and ThreadLocal variables,
// and the locals of the methods that it is in. Locals of one large request or query
// explain many a full heap. Threads of the same name share the columns about locals.
// Continue with dominated-by for an address, and with thread-locals.
MATCH (d:Dump {number: $dump})-[:HAS_ROOT]->(l:Root)-[:REFERENCES]->(o:Object)
WHERE l.kind IN ['java_frame', 'jni_local', 'native_stack']
  AND NOT EXISTS { (o)<-[:REFERENCES]-(:Root {kind: 'thread'}) }
WITH l.owner AS owner, o, min(l.key) AS first,
  CASE WHEN EXISTS { (d)-[:DOMINATES]->(o) } THEN o.retained_bytes ELSE 0 END AS held
ORDER BY held DESC, o.key
WITH owner, count(o) AS local_count, sum(held) AS locals_bytes,
  collect([o, held, first])[0] AS largest
WITH collect([owner, local_count, locals_bytes, largest]) AS by_owner
MATCH (:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)-[:REFERENCES]->(t:Object)
WHERE r.kind = 'thread'
WITH DISTINCT r.owner AS thread, t,
  [entry IN by_owner WHERE entry[0] = r.owner][0] AS locals
ORDER BY t.retained_bytes + coalesce(locals[2], 0) DESC, t.key
LIMIT $limit
WITH thread, t, locals, CASE WHEN locals[3][1] > 0 THEN locals[3] END AS largest
OPTIONAL MATCH (t)-[:INSTANCE_OF]->(tt:Type)
OPTIONAL MATCH (f:Root {key: largest[2]})
WITH thread, t, tt, locals, largest[0] AS o, largest[1] AS held, f
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(ot:Type)
RETURN
  thread,
  tt.name AS type,
  t.address AS address,
  t.retained_bytes AS retained_bytes,
  coalesce(locals[1], 0) AS local_count,
  coalesce(locals[2], 0) AS locals_bytes,
  ot.name AS local_type,
  o.address AS local_address,
  held AS local_bytes,
  f.frame AS frame
ORDER BY t.retained_bytes + locals_bytes DESC, t.key
LIMIT $limit
