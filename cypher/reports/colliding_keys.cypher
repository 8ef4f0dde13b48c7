// name: colliding-keys
// title: Hash maps whose keys share buckets
// group: JVM
// needs: jvm
// mode: read
// searched: tables with at least $min_chain keys in one bucket
// param: dump       INTEGER      number of the dump
// param: min_chain  INTEGER = 4  smallest number of keys in the fullest bucket
// param: pattern STRING = "java\.util\..*(Map|Hashtable)\$(Node|Entry|HashMapEntry)\[]" tables
// param: limit      INTEGER = 20 maximum number of rows
// column: map_type        STRING   type of the map that has the table
// column: address         STRING   its address
// column: key_count       INTEGER  keys in the map
// column: slot_count      INTEGER  buckets
// column: used_count      INTEGER  buckets with a key
// column: longest_chain   INTEGER  keys in the fullest bucket
// column: key_type        STRING   type of the first key in that bucket
// column: retained_bytes  INTEGER  retained size of the map, bytes
//
// Keys of one bucket are searched one after the other, or in a tree if they can be
// compared: the map is slow, not large. A long chain means that hashCode returns few
// different values; keys that an attacker chooses can be made to collide. Entries of a
// WeakHashMap whose keys are gone are counted until the map drops them; those that are
// in one bucket only by their queue count for it too.
MATCH (t:Type)
WHERE t.dump = $dump AND t.name =~ $pattern
MATCH (a:Object)-[:INSTANCE_OF]->(t)
WHERE a.root_distance IS NOT NULL
CALL (a) {
  MATCH (a)-[:REFERENCES]->(n:Object)
  WITH DISTINCT a, n
  MATCH p = (n)-[:REFERENCES*0..2147483647]->(k:Object)
  WHERE all(r IN relationships(p) WHERE r.field IN ['next', 'first'])
    AND all(m IN nodes(p) WHERE m = n OR NOT EXISTS { (a)-[:REFERENCES]->(m) })
  WITH DISTINCT n, k
  WITH n,
    // The head of a tree in a ConcurrentHashMap has no key.
    sum(CASE WHEN EXISTS { (k)-[:REFERENCES {field: 'first'}]->() } THEN 0 ELSE 1 END)
      AS keys
  ORDER BY keys DESC, n.key
  RETURN count(n) AS used_count, max(keys) AS longest_chain, collect(n)[0] AS fullest
}
WITH a, used_count, longest_chain, fullest
WHERE longest_chain >= $min_chain
CALL (a) {
  MATCH p = (a)-[:REFERENCES*1..2147483647]->(k:Object)
  WHERE all(r IN relationships(p) WHERE startNode(r) = a OR r.field IN ['next', 'first'])
  WITH DISTINCT k
  WHERE NOT EXISTS { (k)-[:REFERENCES {field: 'first'}]->() }
  RETURN count(k) AS key_count
}
WITH a, key_count, used_count, longest_chain, fullest
ORDER BY longest_chain DESC, key_count DESC, a.key
LIMIT $limit
CALL (a) {
  OPTIONAL MATCH (m:Object)-[:REFERENCES {field: 'table'}]->(a)
  WHERE m.root_distance IS NOT NULL
  OPTIONAL MATCH (m)-[:INSTANCE_OF]->(mt:Type)
  RETURN m, mt.name AS map_type
  ORDER BY m.key
  LIMIT 1
}
CALL (fullest) {
  OPTIONAL MATCH (fullest) (()-[r:REFERENCES WHERE r.field = 'first']->()){0,1} (e),
    (e)-[to:REFERENCES|WEAKLY_REFERENCES]->(key:Object)
  WHERE to.field IN ['key', 'referent']
  OPTIONAL MATCH (key)-[:INSTANCE_OF]->(kt:Type)
  RETURN kt.name AS key_type
  ORDER BY key.key
  LIMIT 1
}
RETURN
  map_type,
  m.address AS address,
  key_count,
  a.length AS slot_count,
  used_count,
  longest_chain,
  key_type,
  m.retained_bytes AS retained_bytes
ORDER BY longest_chain DESC, key_count DESC, a.key
LIMIT $limit
