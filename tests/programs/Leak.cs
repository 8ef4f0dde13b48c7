// A program that leaks, for heap dumps: what lives in it and what dies is known.
//
// It reads commands from standard input, one a line, and answers with one line:
//
//   grow N     N more animals that stay and N that die, laid alternately, and N
//              listeners that an event keeps; answers with the numbers kept
//   collect    one full, blocking, compacting collection; answers with its number
//   where      answers with the address of every animal that stays, by its tag
//   ping       answers with pong and the sum of the tags
//
// It ends with its input.

using System;
using System.Collections.Generic;
using System.Runtime;
using System.Text;

namespace Farm
{
    public class Animal
    {
        public readonly int Tag;
        public Animal Mate;
        public byte[] Weight;

        public Animal(int tag, Animal mate)
        {
            Tag = tag;
            Mate = mate;
            Weight = new byte[64];
        }
    }

    public sealed class Stray : Animal
    {
        public Stray(int tag) : base(tag, null) { }
    }

    public sealed class Bell
    {
        public static event EventHandler Rung;

        public static int Ears
        {
            get { return Rung == null ? 0 : Rung.GetInvocationList().Length; }
        }
    }

    public sealed class Listener
    {
        readonly byte[] memory = new byte[256];

        public Listener()
        {
            Bell.Rung += OnRung;
        }

        void OnRung(object sender, EventArgs arguments)
        {
            memory[0]++;
        }
    }

    public static class Program
    {
        static readonly List<Animal> Herd = new List<Animal>();

        static string Grow(int count)
        {
            Animal[] strays = new Animal[count];
            for (int number = 0; number < count; number++)
            {
                strays[number] = new Stray(-1);
                Animal mate = Herd.Count == 0 ? null : Herd[Herd.Count - 1];
                Herd.Add(new Animal(Herd.Count + 1, mate));
                new Listener();
            }
            GC.KeepAlive(strays);
            return "animals " + Herd.Count + " listeners " + Bell.Ears;
        }

        static string Collect()
        {
            GCSettings.LargeObjectHeapCompactionMode =
                GCLargeObjectHeapCompactionMode.CompactOnce;
            GC.Collect(2, GCCollectionMode.Forced, true, true);
            return "collected " + GC.CollectionCount(2);
        }

        static unsafe ulong AddressOf(object what)
        {
            TypedReference reference = __makeref(what);
            return (ulong)(**(IntPtr**)(&reference)).ToInt64();
        }

        static string Where()
        {
            // All the memory that the answer takes is taken first: a collection
            // between two addresses would make them disagree.
            StringBuilder answer = new StringBuilder("where", 32 * Herd.Count + 32);
            ulong[] addresses = new ulong[Herd.Count];
            int before;
            do
            {
                before = GC.CollectionCount(0);
                for (int number = 0; number < addresses.Length; number++)
                    addresses[number] = AddressOf(Herd[number]);
            }
            while (GC.CollectionCount(0) != before);
            for (int number = 0; number < addresses.Length; number++)
                answer.Append(' ').Append(number + 1).Append('=')
                    .Append(addresses[number].ToString("x"));
            return answer.ToString();
        }

        static string Ping()
        {
            long sum = 0;
            foreach (Animal animal in Herd)
                sum += animal.Tag;
            return "pong " + sum;
        }

        static string Answer(string[] words)
        {
            switch (words[0])
            {
                case "grow": return Grow(int.Parse(words[1]));
                case "collect": return Collect();
                case "where": return Where();
                case "ping": return Ping();
                default: return "unknown " + words[0];
            }
        }

        public static void Main()
        {
            Console.WriteLine("ready");
            string line;
            while ((line = Console.ReadLine()) != null)
                Console.WriteLine(Answer(line.Split(' ')));
        }
    }
}
