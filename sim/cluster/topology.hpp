// topology.hpp — what a cluster is made of, and which wires join it.
//
// Devices (GPUs, CPU sockets, switches, NICs) are dense numbers in the order in which they were
// added, and so are directed links; every cable is two of them. A link's bandwidth is the line rate
// of its data sheet; what software reaches of it is a factor of its own (see rings.hpp). For the
// whole of a flow-level solver a topology is link_rates(), and a flow is a span of LinkIds
// (routes.hpp). Copies are independent; nothing depends on an address.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/input_error.hpp"
#include "base/large_pages.hpp"
#include "base/quantity.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/link_reach.hpp"
#include "sim/network/link.hpp"

namespace ukemi::sim {

enum class DeviceId : std::uint32_t {};
enum class MachineId : std::uint32_t {};  // one chassis; switches of the network have none

enum class DeviceKind : std::uint8_t {
    gpu,
    cpu,  // one socket (NUMA node)
    pcie_switch,
    nvswitch,
    nic,
    network_switch,
};
enum class LinkKind : std::uint8_t { nvlink, pcie, socket, network };

std::string_view to_string(DeviceKind kind);
std::string_view to_string(LinkKind kind);

inline constexpr MachineId no_machine{UINT32_MAX};
inline constexpr std::size_t devices_max = std::size_t{1} << 20;
inline constexpr std::size_t links_max = std::size_t{1} << 22;

// More devices or links than that.
struct TopologyLimit : InputError {
    TopologyLimit();
};

struct Device {
    DeviceKind kind = DeviceKind::gpu;
    MachineId machine = no_machine;
    std::uint32_t index = 0;  // among the devices of its kind in its machine (in the network)
    std::string name;         // "gpu3": unique in its machine
};

struct Link {
    DeviceId from{};
    DeviceId to{};
    LinkKind kind = LinkKind::network;
    std::uint32_t lanes = 1;   // cables that act as one: 2 where two NVLinks join two GPUs
    BytesPerSecond bandwidth;  // of all lanes together, in this direction, > 0
    Duration latency;          // of one hop, 0 to 1 s
};

struct Machine {
    std::string name;
    std::string preset;  // of machine_spec.hpp, or the file that it was read from
    std::uint32_t rack = 0;
    ZoneId zone{};
    std::string gpu = {};                                  // of gpus.cpp; empty: none, or unknown
    std::shared_ptr<const GpuProfile> described_gpu = {};  // which computes in its place; else null
    bool gpu_assumed = false;  // from its compute capability, which others have, too
    NicKind nics = NicKind::infiniband;
    bool amd = false;                 // its CPUs
    double nic_gbit_per_s = 0;        // of each of its NICs, where a dump says it
    std::int64_t nic_ports_left = 0;  // out of those in its file: nic_choice.hpp
};

// Of a machine that has GPUs what computes there: the described one, else that of gpus.cpp.
std::string_view gpu_name_of(const Machine& machine);
const GpuProfile& gpu_profile_of(const Machine& machine, std::string_view where);

class Topology {
    static constexpr std::uint32_t none = UINT32_MAX;

public:
    // The links out of a device, ascending: a range that lives as long as its topology.
    class LinkChain {
    public:
        class Iterator {
        public:
            using value_type = LinkId;
            using difference_type = std::ptrdiff_t;
            Iterator() = default;
            Iterator(const LongList<std::uint32_t>& next, std::uint32_t at)
                : next_(&next), at_(at) {}
            LinkId operator*() const { return static_cast<LinkId>(at_); }
            Iterator& operator++() {
                at_ = (*next_)[at_];
                return *this;
            }
            Iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
            bool operator==(const Iterator& other) const { return at_ == other.at_; }

        private:
            const LongList<std::uint32_t>* next_ = nullptr;
            std::uint32_t at_ = none;
        };
        LinkChain(const LongList<std::uint32_t>& next, std::uint32_t first) : begin_(next, first) {}
        Iterator begin() const { return begin_; }
        Iterator end() const { return {}; }

    private:
        Iterator begin_;
    };

    std::span<const Device> devices() const { return devices_; }
    std::span<const Link> links() const { return links_; }
    std::span<const Machine> machines() const { return machines_; }
    const Device& device(DeviceId id) const;
    const Link& link(LinkId id) const;
    const Machine& machine(MachineId id) const;

    std::vector<LinkRate> link_rates() const;  // by LinkId
    LinkChain links_from(DeviceId id) const;
    std::vector<DeviceId> devices_of(DeviceKind kind) const;
    std::vector<DeviceId> devices_of(DeviceKind kind, MachineId machine) const;
    // Where workers run, in the order of machines: the GPUs; the first socket of a machine without.
    std::vector<DeviceId> workers() const;
    // The NVLinks, or other links of a kind, from one device to another; 0 if there are none.
    std::uint32_t lanes_between(DeviceId from, DeviceId to, LinkKind kind) const;
    std::string full_name(DeviceId id) const;  // "machine0/gpu3"

    MachineId add_machine(Machine machine);
    Machine& machine_to_describe(MachineId id);
    DeviceId add_device(DeviceKind kind, MachineId machine, std::string name);
    // Both directions: the returned link leads from a to b, the next number from b to a.
    // Throws InputError, naming the two devices, if the bandwidth is not above zero and finite, or
    // the latency is not within 0 to 1 s: presets may be wrong by a user's hand.
    LinkId connect(DeviceId a, DeviceId b, LinkKind kind, std::uint32_t lanes,
                   BytesPerSecond bandwidth, Duration latency);
    // One more machine with the devices of another and the links from `link_begin` to before
    // `link_end`, which must all be within that one, in the same order; name, rack and zone are
    // those of `place`. What comes of it is shifted by as much as the devices are.
    MachineId repeat(MachineId of, std::uint32_t link_begin, std::uint32_t link_end, Machine place);
    void make_room(std::size_t devices, std::size_t links);  // for so many more
    // What software reaches of the line rates: every link of the kind, times 0 < factor ≤ 1.
    void derate(LinkKind kind, double factor);
    // The factors of all derate() calls of the kind; nothing if there were none.
    std::optional<double> share(LinkKind kind) const {
        return shares_[static_cast<std::size_t>(kind)];
    }

private:
    struct Outs {  // of a device: the links that leave it
        std::uint32_t first = none;
        std::uint32_t last = none;
    };
    struct Span {  // all devices of a machine are within
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };

    void note_device(MachineId machine, std::uint32_t device);
    void note_link(std::uint32_t number);

    LongList<Device> devices_;
    LongList<Link> links_;
    std::vector<Machine> machines_;
    LongList<Outs> outs_;                          // by device
    LongList<std::uint32_t> next_out_;             // by link: the next that leaves the same device
    std::vector<Span> spans_;                      // by machine
    std::array<std::optional<double>, 4> shares_;  // by kind of link
};

}  // namespace ukemi::sim
