// host_transport.hpp — collectives that go through host memory, as MPI over TCP has them.
//
// A gradient is copied from the device to the host and back, and where several travel together
// through a buffer, too (LaunchRule); of those in the air at once one after the other. Between
// ranks it goes from socket to socket, over connections that carry less than the wire, and one
// thread of each rank adds up what arrives in the first half of an all-reduce, a part after it has
// come: half of what passes in a ring, what goes up in a tree. So a connection of which a share is
// added up moves 1/(1/connection + share/sum), within a machine 1/(1/memory + share/sum), and all
// that lead to a rank together no more than its thread adds. Of a double_binary_tree half is added
// up, each connection's by itself. Of what goes to a parameter server and comes back, a thread of
// the server for each connection adds up half: what goes there; one thread of the worker that
// stands for its machine adds up what the others hand in.
#pragma once

#include <compare>
#include <cstdint>

#include "base/quantity.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/cluster/topology.hpp"

namespace ukemi::sim {

// Bytes a second.
struct HostTransport {
    static constexpr double unbounded = 1e15;

    // What one TCP connection carries. Open MPI before 3.0 has buffers of 128 KiB, with which its
    // FAQ on TCP (question 15) sees 5 Gbit/s on 10 Gbit/s and faster networks.
    double connection = 0.625e9;
    // One thread on a virtual AMD EPYC, 32 MiB from memory, g++ -O2: copies 12, sums 13.6 GB/s.
    double memory = 12e9;  // from rank to rank of a machine
    double buffer = 12e9;  // into and out of the buffer that several tensors travel in
    double sum = 13.6e9;
    double device = 12e9;          // to and from the GPU: NCCL's topo.h, PCIe 3 x16
    std::int32_t round_trips = 1;  // before each transfer: a rendezvous
    // How much later than that each transfer between machines begins on the mean: exponential,
    // drawn for each anew; who waits for several waits for the latest. No source gives one.
    Duration jitter;

    double device_s_per_byte() const { return 2 / device; }  // from the GPU and onto it again
    double buffer_s_per_byte() const { return 2 / buffer; }
    // Of what passes between two ranks, of which such a share is added up.
    double rate(bool within_machine, double added = 0.5) const {
        return 1 / (1 / (within_machine ? memory : connection) + added / sum);
    }
    friend auto operator<=>(const HostTransport&, const HostTransport&) = default;
};

// The socket that a worker's process is on: the nearest one of its machine. InputError if there is
// none.
DeviceId socket_of(const Topology& topology, Routes& routes, DeviceId worker);

}  // namespace ukemi::sim
