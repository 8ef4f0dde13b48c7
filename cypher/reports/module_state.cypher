// name: module-state
// title: Variables of scripts, and what they retain
// group: JavaScript
// needs: v8, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: script          STRING   name of the script
// column: variable        STRING   the variable
// column: type            STRING   full type name of its value
// column: address         STRING   address of its value, hexadecimal
// column: retained_bytes  INTEGER  retained size of its value, bytes: 0 if something else holds it too
//
// Variables that are declared in a script, and that a function of it uses, live until the
// script is unloaded, which most never are. A Map or an array here that only grows is the
// most frequent leak of a server. Continue with why for the address.
MATCH (m:Type)<-[:INSTANCE_OF]-(scope:Object)-[r:REFERENCES]->(o:Object)
WHERE m.dump = $dump AND m.name STARTS WITH 'module '
  AND scope.root_distance IS NOT NULL AND r.field IS NOT NULL
  AND NOT r.field IN ['previous', 'scope_info', 'map', 'extension']
OPTIONAL MATCH (o)-[:INSTANCE_OF]->(t:Type)
WITH m, scope, r.field AS variable, o, t,
  EXISTS { (scope)-[:DOMINATES]->(o) } AS is_its_own
WITH DISTINCT m, scope, variable, o, t,
  CASE WHEN is_its_own THEN o.retained_bytes ELSE 0 END AS retained_bytes
RETURN
  substring(m.name, 7) AS script,
  variable,
  coalesce(t.name, o.type_name) AS type,
  o.address AS address,
  retained_bytes
ORDER BY retained_bytes DESC, scope.key, variable, o.key
LIMIT $limit
