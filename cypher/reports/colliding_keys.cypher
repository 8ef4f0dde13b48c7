// name: colliding-keys
// title: Hash maps whose keys share buckets
// group: JVM
// needs: jvm
// mode: read
// param: dump       INTEGER      number of the dump
// param: min_chain  INTEGER = 4  smallest number of keys in the fullest bucket
// param: pattern STRING = "java\.util\..*(Map|Hashtable)\$(Node|Entry|HashMapEntry)\[]" tables
// param: limit      INTEGER = 20 maximum number of rows
// column: map_type        STRING   type of the map that has the table
// column: address         STRING   its address
// column: key_count       INTEGER  keys in the map
// column: slot_count      INTEGER  buckets
// column: used_count      INTEGER  buckets with a key
// column: longest_chain   INTEGER  keys in the fullest bucket, 10,000 at most
// column: key_type        STRING   type of the first key in that bucket
// column: retained_bytes  INTEGER  retained size of the map, bytes
//
// Keys of one bucket are searched one after the other, or in a tree if they can be
// compared: the map is slow, not large. A long chain means that hashCode returns few
// different values; keys that an attacker chooses can be made to collide.
MATCH (t:Type)
WHERE t.dump = $dump AND t.name =~ $pattern
MATCH (a:Object)-[:INSTANCE_OF]->(t)
WHERE a.root_distance IS NOT NULL
CALL (a) {
  MATCH (a)-[:REFERENCES]->(n:Object)
  WITH n, COUNT {
    (n) (()-[r:REFERENCES WHERE r.field IN ['next', 'first']]->()){1,10000} ()
  } AS more
  WITH n,
    // The head of a tree in a ConcurrentHashMap has no key.
    CASE WHEN EXISTS { (n)-[:REFERENCES {field: 'first'}]->() } THEN more
      ELSE more + 1 END AS keys
  ORDER BY keys DESC, n.key
  RETURN sum(keys) AS key_count, count(n) AS used_count, max(keys) AS longest_chain,
    collect(n)[0] AS fullest
}
WITH a, key_count, used_count, longest_chain, fullest
WHERE longest_chain >= $min_chain
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
    (e)-[k:REFERENCES|WEAKLY_REFERENCES]->(key:Object)
  WHERE k.field IN ['key', 'referent']
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
