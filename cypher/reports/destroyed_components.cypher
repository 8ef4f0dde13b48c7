// name: destroyed-components
// title: Destroyed activities and fragments, and cleared view models, that are still held
// group: JVM
// needs: android
// mode: read
// param: dump   INTEGER       number of the dump
// param: bases STRING = "android.app.Activity android.app.Fragment androidx.fragment.app.Fragment" types
// param: models STRING = "androidx.lifecycle.ViewModel"  types of view models
// param: limit  INTEGER = 20  maximum number of rows
// column: kind            STRING   the type of bases that it extends
// column: type            STRING   full type name
// column: address         STRING   hexadecimal, as a debugger prints it
// column: retained_bytes  INTEGER  retained size, bytes: freed if the object is freed
// column: holder_type     STRING   type of the immediate dominator
// column: holder_address  STRING   its address
//
// Android has destroyed these screens, and something in the program still refers to
// them: each keeps its views and images alive. An activity is destroyed if it says
// so, a fragment if it has no fragment manager (or has not got one yet), and a view
// model is cleared if it says so. Continue with shortest-root-path for the address.
MATCH (b:Type)
WHERE b.dump = $dump AND b.name IN split($bases + ' ' + $models, ' ')
MATCH (base:Object {dump: $dump, address: b.class_address})
MATCH p = (base)<-[:REFERENCES|WEAKLY_REFERENCES*0..2147483647]-(c:Object)
WHERE all(s IN relationships(p) WHERE s.field = '<super>')
WITH DISTINCT b, c
WITH b.name AS kind, collect(c.address) AS classes
MATCH (t:Type)
WHERE t.dump = $dump AND t.class_address IN classes
MATCH (o:Object)-[:INSTANCE_OF]->(t)
WHERE o.root_distance IS NOT NULL AND (o.value IN ['destroyed', 'cleared']
  OR (kind ENDS WITH 'Fragment' AND NOT EXISTS {
    MATCH (o)-[m:REFERENCES|WEAKLY_REFERENCES]->()
    WHERE m.field = 'mFragmentManager'
  }))
WITH kind, t, o
ORDER BY o.retained_bytes DESC, o.key
LIMIT $limit
OPTIONAL MATCH (h:Object)-[:DOMINATES]->(o)
OPTIONAL MATCH (h)-[:INSTANCE_OF]->(ht:Type)
RETURN
  kind,
  t.name AS type,
  o.address AS address,
  o.retained_bytes AS retained_bytes,
  ht.name AS holder_type,
  h.address AS holder_address
ORDER BY retained_bytes DESC, o.key
LIMIT $limit
