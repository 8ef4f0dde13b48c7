// name: coroutines
// title: Coroutines and generators by function, what they wait for and retain
// group: Python
// needs: python, fields
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: type             STRING   coroutine, generator or async_generator
// column: function         STRING   name of the function; null if the dump has none
// column: waits_for        STRING   function or type of what they wait for; null for nothing
// column: count            INTEGER  reachable ones
// column: task_count       INTEGER  distinct reachable tasks of asyncio that run them
// column: retained_bytes   INTEGER  sum of their retained sizes, bytes
// column: largest_address  STRING   address of the one with the largest retained size
//
// Many of one function that wait for the same are often tasks that never finish. One that
// waits for another is counted with what that retains, if nothing else holds it. A dump does
// not tell whether one has ended: it waits for nothing, as one that runs or has not begun.
// Continue with why for the address.
MATCH (t:Type)<-[:INSTANCE_OF]-(c:Object)
WHERE t.dump = $dump AND t.name IN ['coroutine', 'generator', 'async_generator']
  AND c.root_distance IS NOT NULL
OPTIONAL MATCH (c)-[ra:REFERENCES]->(a:Object)-[:INSTANCE_OF]->(at:Type)
WHERE ra.field IN ['cr_await', 'gi_yieldfrom', 'ag_await'] AND at.name <> 'NoneType'
WITH t, c, min(coalesce(
    CASE
      WHEN at.name IN ['coroutine', 'generator', 'async_generator'] THEN a.value
    END,
    at.name)) AS waits_for
OPTIONAL MATCH (c)<-[rt:REFERENCES]-(task:Object)
WHERE rt.field = '_coro' AND task.root_distance IS NOT NULL
WITH t, c, waits_for, count(DISTINCT task) AS task_count
ORDER BY c.retained_bytes DESC, c.key
WITH t.name AS type, c.value AS function, waits_for, count(*) AS count,
  sum(task_count) AS task_count, sum(c.retained_bytes) AS retained_bytes,
  collect(c)[0] AS largest
RETURN
  type,
  function,
  waits_for,
  count,
  task_count,
  retained_bytes,
  largest.address AS largest_address
ORDER BY retained_bytes DESC, count DESC, largest.key
LIMIT $limit
