// name: async-state-machines
// title: Async methods whose state is still in memory
// group: .NET
// needs: dotnet
// mode: read
// param: dump   INTEGER       number of the dump
// param: limit  INTEGER = 20  maximum number of rows
// column: method          STRING   name of the method
// column: kind            STRING   `task` if the type is that of a task; otherwise `task or iterator`
// column: type            STRING   full name of the type that stores the state of the method
// column: live_count      INTEGER  reachable objects
// column: dead_count      INTEGER  unreachable objects: nothing will resume them
// column: live_bytes      INTEGER  shallow size of the reachable ones, bytes
// column: retained_bytes  INTEGER  freed if all of them are freed, bytes
//
// Each call of an async method that has had to wait is an object with the local
// variables of the method and the position where it waits. Many of one method are
// calls waiting for something that never happens, or completed tasks that are still
// in a list: a dump does not say which, because the state number is not a reference.
// The compiler names the type after the method, `<Method>d__3`; iterators have such
// names as well, and unless the type is an AsyncStateMachineBox only the source
// shows which is which. Tasks without a method, made by Task.Run or a
// TaskCompletionSource, are not listed: use objects-of-type. The counts are computed
// at load time: no objects are scanned. Continue with root-paths-of-type.
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
