using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;

/// <summary>Fails a test whose work leaves objects behind. Copy it; change it.</summary>
/// <remarks>The tool has not been run with this file: there was no .NET to try it with.</remarks>
public static class LeakCheck
{
    private const int Dumps = 3, Findings = 20;

    /// <summary>Do the work before each of three dumps of this process.</summary>
    public static void NothingAccumulates(int times, Action work)
    {
        var folder = Directory.CreateTempSubdirectory("leaks").FullName;
        try
        {
            var files = new List<string> { "check" };
            for (var dump = 0; dump < Dumps; dump++)
            {
                for (var time = 0; time < times; time++) work();
                var file = Path.Combine(folder, $"{dump}.gcdump");
                Run("capture", "dotnet", Environment.ProcessId.ToString(), "-o", file);
                files.Add(file);
            }
            var (code, said) = Ingest(files.ToArray());
            if (code == Findings) throw new Exception(said);
            if (code != 0) throw new InvalidOperationException($"exit {code}\n{said}");
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static void Run(params string[] arguments)
    {
        var (code, said) = Ingest(arguments);
        if (code != 0) throw new InvalidOperationException($"exit {code}\n{said}");
    }

    private static (int Code, string Said) Ingest(params string[] arguments)
    {
        var start = new ProcessStartInfo("ingest") { RedirectStandardOutput = true };
        foreach (var one in arguments) start.ArgumentList.Add(one);
        using var process = Process.Start(start)!;
        var said = process.StandardOutput.ReadToEnd();
        process.WaitForExit();
        return (process.ExitCode, said);
    }
}
