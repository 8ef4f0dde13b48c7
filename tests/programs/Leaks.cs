// Small programs that leak in one way each, and one that does not, for heap dumps.
//
//   Leaks MODE COUNT    lets COUNT objects pile up, says "ready", ends with its input

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Threading;

namespace Harbor
{
    public class Thing
    {
        public readonly string Name;
        public Thing(int number) { Name = "thing " + number; }
    }

    public sealed class Crane
    {
        readonly byte[] load = new byte[200];
        public void OnArrived(object sender, EventArgs arguments) { load[0]++; }
    }

    public static class Dock
    {
        public static event EventHandler Arrived;
        public static int Many { get { return Arrived.GetInvocationList().Length; } }
    }

    public sealed class Signal
    {
        public event EventHandler Raised;
        public int Many { get { return Raised.GetInvocationList().Length; } }
    }

    public sealed class Container : Thing { public Container(int n) : base(n) { } }
    public sealed class Manifest : Thing { public Manifest(int n) : base(n) { } }
    public sealed class Request : Thing { public Request(int n) : base(n) { } }
    public sealed class Anchor : Thing { public Anchor(int n) : base(n) { } }
    public sealed class Voyage : Thing { public Voyage(int n) : base(n) { } }
    public sealed class Cargo : Thing { public Cargo(int n) : base(n) { } }

    public sealed class Visit
    {
        public readonly List<Request> Requests = new List<Request>();
    }

    public sealed class Buoy : Thing
    {
        public readonly Buoy Next;
        public Buoy(int n, Buoy next) : base(n) { Next = next; }
    }

    public sealed class Pilot : Thing
    {
        Timer timer;
        public Pilot(int n) : base(n) { timer = new Timer(OnTime, null, 3600000, 3600000); }
        void OnTime(object state) { GC.KeepAlive(timer); }
    }

    public sealed class Region : Thing
    {
        public readonly List<Region> Parts = new List<Region>(4);
        public Region(int n) : base(n) { }
    }

    public sealed class Lane { public Buoy Head; }
    public sealed class Berth { public readonly Queue<Request> Waiting = new Queue<Request>(); }
    public sealed class Office { public readonly Dictionary<string, Manifest> Files = new Dictionary<string, Manifest>(); }
    public sealed class Pool { public readonly Dictionary<int, byte[]> Buffers = new Dictionary<int, byte[]>(); }
    public sealed class Gate { public readonly ConcurrentDictionary<long, Visit> Open = new ConcurrentDictionary<long, Visit>(); }
    public sealed class Atlas { public Region Top; }
    public sealed class Layer { public object Below; public readonly int[] Numbers = new int[8]; }

    public static class Port
    {
        static readonly List<Container> yard = new List<Container>();
        static readonly List<string> lines = new List<string>();
        static readonly List<Action> later = new List<Action>();
        [ThreadStatic] static List<Voyage> voyages;
        static object keeper;

        static void Later(Cargo cargo)
        {
            later.Add(() => Console.WriteLine(cargo.Name));
        }

        static void Leak(string mode, int count)
        {
            Lane lane = new Lane();
            Berth berth = new Berth();
            Office office = new Office();
            Pool pool = new Pool();
            Gate gate = new Gate();
            Signal signal = new Signal();
            List<Region> regions = new List<Region>();
            for (int n = 0; n < count; n++)
            {
                switch (mode)
                {
                    case "static-event": Dock.Arrived += new Crane().OnArrived; break;
                    case "event": signal.Raised += new Crane().OnArrived; keeper = signal; break;
                    case "static-list": yard.Add(new Container(n)); break;
                    case "strings": lines.Add("the line with the number " + n); break;
                    case "closures": Later(new Cargo(n)); break;
                    case "handles": GCHandle.Alloc(new Anchor(n)); break;
                    case "timers": new Pilot(n); break;
                    case "chain": lane.Head = new Buoy(n, lane.Head); keeper = lane; break;
                    case "queue": berth.Waiting.Enqueue(new Request(n)); keeper = berth; break;
                    case "map": office.Files["file " + n] = new Manifest(n); keeper = office; break;
                    case "buffers": pool.Buffers[n] = new byte[n % 900]; keeper = pool; break;
                    case "wrapped": office.Files["file " + n] = new Manifest(n); break;
                    case "thread-static":
                        voyages = voyages ?? new List<Voyage>();
                        voyages.Add(new Voyage(n));
                        break;
                    case "sessions":
                        Visit visit = new Visit();
                        for (int m = 0; m < 4; m++) visit.Requests.Add(new Request(m));
                        gate.Open[n] = visit;
                        keeper = gate;
                        break;
                    case "tree":
                        regions.Add(new Region(n));
                        if (n > 0) regions[(n - 1) / 3].Parts.Add(regions[n]);
                        break;
                }
            }
            if (mode == "tree") keeper = new Atlas { Top = regions[0] };
            if (mode == "wrapped")
            {
                keeper = office;
                for (int n = 0; n < 5; n++) keeper = new Layer { Below = keeper };
            }
        }

        // What a healthy program has: some of many things.
        public sealed class Kind<T> : Thing { public T Value; public Kind(int n) : base(n) { } }

        static class Shelf<T>
        {
            static readonly List<Kind<T>> some = new List<Kind<T>>();
            static readonly Dictionary<string, Kind<T[]>> named = new Dictionary<string, Kind<T[]>>();

            public static void Fill(int count)
            {
                for (int n = 0; n < count / 2; n++) some.Add(new Kind<T>(n));
                for (int n = 0; n < count / 3; n++) named["name " + n] = new Kind<T[]>(n);
            }
        }

        static void Rest(int count)
        {
            Shelf<int>.Fill(count); Shelf<long>.Fill(count); Shelf<byte>.Fill(count); Shelf<short>.Fill(count);
            Shelf<double>.Fill(count); Shelf<float>.Fill(count); Shelf<bool>.Fill(count); Shelf<char>.Fill(count);
            Shelf<uint>.Fill(count); Shelf<ulong>.Fill(count); Shelf<sbyte>.Fill(count); Shelf<ushort>.Fill(count);
            Shelf<decimal>.Fill(count); Shelf<Guid>.Fill(count); Shelf<DateTime>.Fill(count); Shelf<TimeSpan>.Fill(count);
        }

        public static void Main(string[] words)
        {
            Rest(600);
            Leak(words[0], int.Parse(words[1]));
            GC.Collect();
            Console.WriteLine("ready");
            Console.ReadLine();
            GC.KeepAlive(keeper);
            GC.KeepAlive(voyages);
        }
    }
}
