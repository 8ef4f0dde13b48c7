// name: async-state-machines
// title: Async methods whose state is still in memory
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  most rows to return
// column: method           STRING   name of the method
// column: kind             STRING   `task` where the type is a task's; else `task or iterator`
// column: type             STRING   full name of the type that has the method's state
// column: live_count       INTEGER  objects that a strong root reaches
// column: dead_count       INTEGER  objects that no strong root reaches: nothing resumes them
// column: live_bytes       INTEGER  bytes of the live ones alone
// column: retained_bytes   INTEGER  what goes if all of them go, bytes
//
// Each call of an async method that has had to wait is an object with its variables
// and where it waits. Many of one method are calls that wait for what never comes, or
// tasks that are kept in a list though they are done: a dump does not say which of
// the two, for the state's number is no reference. The compiler names the type after
// the method, `<Method>d__3`; iterators have such names as well, and where a type is
// no AsyncStateMachineBox only the source tells them apart. Tasks without a method,
// of Task.Run or a TaskCompletionSource, are not here: ask objects-of-type. The
// counts come from the load: no object is scanned. Go on with root-paths-of-type.
MATCH (t:Type)
WHERE t.dump = $dump AND t.instance_count > 0 AND t.name CONTAINS '>d__'
  AND NOT t.name ENDS WITH '[]'
WITH t, split(split(t.name, '>d__')[0], '<') AS parts
RETURN
  parts[-1] AS method,
  CASE
    WHEN t.name =~ '.*(AsyncStateMachineBox|MethodBuilder).*' THEN 'task'
    ELSE 'task or iterator'
  END AS kind,
  t.name AS type,
  t.reachable_count AS live_count,
  t.instance_count - t.reachable_count AS dead_count,
  t.reachable_bytes AS live_bytes,
  t.retained_bytes AS retained_bytes
ORDER BY retained_bytes DESC, live_count DESC, t.key
LIMIT $limit
