// name: leak-suspects
// title: Leak suspects: what accumulates, what holds it, where to cut
// group: Leaks
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type               STRING        full name of the type that accumulates
// column: object_count       INTEGER       objects of that type
// column: retained_bytes     INTEGER       what they retain together, bytes
// column: share              FLOAT         share of the reachable bytes, 0 to 1
// column: pattern            STRING        how they are held, such as `list`, `map` or `event handlers`
// column: holder             STRING        type that refers to them; null if only the runtime does
// column: reference          STRING        its field or static field; null if the dump records none
// column: root_kind          STRING        kind of the root that the path begins at
// column: root_name          STRING        its static field, type or thread; null if the dump records none
// column: path               LIST<STRING>  a shortest path from a root to the object that retains most
// column: cut                STRING        the reference to remove
// column: cut_step           INTEGER       step of the path that it leads to, the root being 0; null if folded
// column: contents           LIST<STRING>  the types that have most of the bytes, with counts and sizes
// column: address            STRING        address of the object that retains most
// column: container_type     STRING        type of the object that they accumulate in
// column: container_address  STRING        its address, which may be that of the object itself
// column: sentence           STRING        the suspect in a sentence
// column: advice             STRING        how to free them; null if an earlier version loaded the dump
// column: signs              LIST<STRING>  sentences that speak for a leak, besides the size; null if there are none
// column: doubts             LIST<STRING>  sentences that speak against one; null if there are none
// column: fingerprint        STRING        equal for the same leak in another dump
//
// A suspect is a pile: objects of one type that one holder keeps alive through one
// field, list, map or event, and that retain at least 10 % of the reachable bytes
// without the runtime's metadata (classes, code; see metadata_bytes of dump), at least
// 5 % of all reachable bytes, and clearly more than the next pile: three at most.
// Types of the runtime (collections, delegates, strings) lead to a pile, and are one
// only if no object of the program is below them. Open the container with dominated-
// by, and use shortest-root-path or k-shortest-root-paths to see what else keeps the
// objects alive. A large share alone is not a leak: compare two dumps to see whether
// it grows. A pile against which something speaks, such as a cache with a bound, counts
// half. Suspects are computed when a dump is loaded.
MATCH (:Dump {number: $dump})-[:HAS_SUSPECT]->(s:Suspect)
MATCH (s)-[:SUSPECTS]->(o:Object)
MATCH (s)-[:OF_TYPE]->(t:Type)
MATCH (s)-[:ACCUMULATES_IN]->(c:Object)-[:INSTANCE_OF]->(k:Type)
RETURN
  t.name AS type,
  s.object_count AS object_count,
  s.retained_bytes AS retained_bytes,
  s.share AS share,
  s.pattern AS pattern,
  s.holder AS holder,
  s.reference AS reference,
  s.root_kind AS root_kind,
  s.root_name AS root_name,
  s.path AS path,
  s.cut AS cut,
  s.cut_step AS cut_step,
  s.contents AS contents,
  o.address AS address,
  k.name AS container_type,
  c.address AS container_address,
  s.sentence AS sentence,
  s.advice AS advice,
  s.signs AS signs,
  s.doubts AS doubts,
  s.fingerprint AS fingerprint
ORDER BY s.rank
LIMIT $limit
