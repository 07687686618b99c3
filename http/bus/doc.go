// SPDX-License-Identifier: MIT

// Package bus carries events between the processes of one service.
//
// # Model
//
// Before any worker starts, the process that starts them makes a [Page] of
// shared memory and one channel per worker, spares included ([NewChannels]): a
// pair of connected datagram sockets. The workers inherit all of it and join
// with [Open]. A publisher takes an id from the page, encodes its event and
// sends it to every channel; there is no separate path to its own process. So
// a frame reaches every worker once or is counted as dropped, at one worker
// too. Message boundaries survive concurrent writers, and a writer that
// crashes leaves no half frame. A body above 64 KiB is written once to a
// sealed memory file, and its descriptor goes to every channel.
//
// [Local] is the same bus inside one process, on every system.
//
// # Order
//
// Ids come from one atomic word, so they are unique and only grow. The frames
// of one publisher arrive in the order in which it sent them; those of two may
// cross on the way. A receiver sees a gap in the ids and holds what lies
// behind it until it closes, at most for the window (20 ms); without a gap
// nothing is held. So an id that is taken and never published costs the frames
// behind it the window. A frame that comes after a higher id was delivered is
// delivered all the same and counted as late: whoever filters by id decides.
//
// # When a peer does not read
//
// A frame that finds a channel full waits in that channel's own queue, in
// order (8 MiB and 8192 frames in each publisher), then it is dropped, counted
// for the channel in [Stats] and on the page, and reported by a
// [RefusedError]. Other channels do not notice, and the publisher never waits.
// A worker learns on its receiving goroutine that frames were lost on their way
// to it ([Config].Lost). Large bodies that wait in a channel are bounded to 64 MiB
// over all publishers, since the kernel charges their sender next to nothing.
//
// A channel whose line on the page is [Vacant] gets nothing: spares cost
// nothing. Opening a channel ends that; the supervisor sets [Starting] before
// it starts the first worker for a line, so that not even the frames of the
// moment in between are missed. A worker that died keeps its state, and its
// successor at the same index finds the frames of the meantime ([Bus.Backlog]).
//
// # Names
//
// A channel name that opens with \x01 belongs to the server ([IsReserved]).
// Publish refuses it, and every door through which an untrusted name comes,
// publishing or subscribing, calls [CheckName]. Only [Bus.SendTo] and
// [Bus.Broadcast] send under such a name.
//
// # Limits
//
// Names up to 512 bytes of UTF-8 without control bytes, kinds up to 255,
// bodies up to 4 MiB. The bus stores nothing, retransmits nothing, knows no
// subscriptions and crosses no machine.
//
// # Where the time goes
//
// A frame of 300 bytes costs its publisher one send for each channel, and that is three quarters
// of its time; the rest is the packet, made once for all channels (go tool pprof of
// BenchmarkFrames). Where nobody has to be woken, a frame takes 1.7 µs to publish and 1.8 to
// receive, 64 at a time in one process, and allocates its body. System calls that Go's scheduler
// is told of, a list of buffers for one, and packets made afresh took 2.2 and 2.1, and 5
// allocations. Decoding takes 55 ns; over [Local] a frame takes 2 µs from goroutine to goroutine.
//
// Between two processes all that is waking and the kernel's turns: the verb "bench processes"
// measured 269,000 frames a second on two quiet cores, and 284,000 of a bare write and read of
// the same bytes (194,000 before that, on a slower day). A reader that sleeps has a frame after
// 33 µs, and after 40 over the bare pair: nearly all is being woken. A reader that looks again
// eight times behind a burst, before it sleeps, slept a third less often and saved no processor
// time, so it sleeps at once.
//
// The floor is a send and a receive by the kernel for each frame and worker. Shared memory would be
// below it, for the price of what the sockets give: message boundaries over several writers, and
// a writer that crashes without leaving half a frame.
//
// The window costs nothing where no frame is missing. Without it 97 to 312 of 40,000 increments of
// two publishers are lost to whoever filters by id; with it none.
package bus
