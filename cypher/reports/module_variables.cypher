// name: module-variables
// title: Modules by what their variables retain
// group: Python
// needs: python
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: module            STRING   name of the module
// column: variable_count    INTEGER  its global variables that refer to objects
// column: object_count      INTEGER  distinct objects that they refer to
// column: retained_bytes    INTEGER  sum of the retained sizes of those that no other object dominates, bytes
// column: largest_variable  STRING   the variable of the one with the largest retained size; the first by name
// column: largest_address   STRING   address of that object
//
// What other objects hold as well, such as a class that a function of another module
// uses, is retained by no variable alone. A variable that a module imports from another
// counts for both. Continue with why for the address, or with static-roots.
MATCH (d:Dump {number: $dump})-[:HAS_ROOT]->(r:Root)
WHERE r.kind = 'static' AND r.field CONTAINS '.'
MATCH (r)-[:REFERENCES]->(o:Object)
WITH d, left(r.field, size(r.field) - size(split(r.field, '.')[-1]) - 1) AS module, o,
  min(r.field) AS variable, count(r) AS variables
WITH module, o, variable, variables,
  CASE WHEN EXISTS { (d)-[:DOMINATES]->(o) } THEN o.retained_bytes ELSE 0 END AS bytes
ORDER BY bytes DESC, o.key
WITH module, sum(variables) AS variable_count, count(o) AS object_count,
  sum(bytes) AS retained_bytes, collect([variable, o.address])[0] AS largest
RETURN
  module,
  variable_count,
  object_count,
  retained_bytes,
  largest[0] AS largest_variable,
  largest[1] AS largest_address
ORDER BY retained_bytes DESC, module
LIMIT $limit
