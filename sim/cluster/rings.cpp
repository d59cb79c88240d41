// rings.cpp — enumerate the cycles, then pack as many as the lanes carry.
#include "sim/cluster/rings.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "base/input_error.hpp"
#include "base/invariant.hpp"
#include "sim/cluster/routes.hpp"

namespace ukemi::sim {
namespace {

// How many partial cycles, and how many partial packings, are looked at; how many cycles are kept.
constexpr std::int64_t steps_max = 2'000'000;
constexpr std::size_t cycles_max = 20'000;  // eight GPUs have 5040 without relays

using Lanes = std::array<std::array<std::int32_t, ring_gpus_max>, ring_gpus_max>;
using Hop = std::array<std::size_t, 2>;  // from, to: one lane of one direction

struct Cycle {
    std::vector<std::size_t> order;
    std::vector<Hop> lanes;  // that it takes
};

class Packing {
public:
    Packing(const Lanes& lanes, std::size_t gpus, bool relayed)
        : lanes_(lanes), gpus_(gpus), relayed_(relayed) {
        current_.order.push_back(0);
        extend();
        left_ = lanes_;
        pack(0);
    }

    const std::vector<std::size_t>& best() const { return best_; }
    const Cycle& cycle(std::size_t index) const { return cycles_[index]; }
    bool exhaustive() const {
        return steps_ < steps_max && packings_ < steps_max && cycles_.size() < cycles_max;
    }

private:
    bool visited(std::size_t gpu) const {
        return std::find(current_.order.begin(), current_.order.end(), gpu) != current_.order.end();
    }

    // The cycle so far plus one GPU, or back to the first. In the order of GPUs, so that the search
    // finds the same rings everywhere.
    void extend() {
        if (++steps_ >= steps_max || cycles_.size() >= cycles_max) return;
        const std::size_t from = current_.order.back();
        if (current_.order.size() == gpus_) {
            hop(from, 0, [&] { keep(); });
            return;
        }
        for (std::size_t to = 1; to < gpus_; ++to) {
            if (visited(to)) continue;
            hop(from, to, [&] {
                current_.order.push_back(to);
                extend();
                current_.order.pop_back();
            });
        }
    }

    template <class Next>
    void hop(std::size_t from, std::size_t to, const Next& next) {
        if (lanes_[from][to] > 0) {
            current_.lanes.push_back({from, to});
            next();
            current_.lanes.pop_back();
            return;
        }
        if (!relayed_) return;
        for (std::size_t relay = 0; relay < gpus_; ++relay) {
            if (lanes_[from][relay] == 0 || lanes_[relay][to] == 0) continue;
            current_.lanes.push_back({from, relay});
            current_.lanes.push_back({relay, to});
            next();
            current_.lanes.resize(current_.lanes.size() - 2);
        }
    }

    void keep() {
        Lanes used{};
        for (const Hop& lane : current_.lanes) {
            if (++used[lane[0]][lane[1]] > lanes_[lane[0]][lane[1]]) return;
        }
        cycles_.push_back(current_);
    }

    bool take(const Cycle& cycle) {
        bool fits = true;
        for (const Hop& lane : cycle.lanes) fits = --left_[lane[0]][lane[1]] >= 0 && fits;
        return fits;
    }
    void give_back(const Cycle& cycle) {
        for (const Hop& lane : cycle.lanes) ++left_[lane[0]][lane[1]];
    }

    // No more rings than the scarcest GPU has lanes left to leave or to enter it.
    std::size_t bound() const {
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        for (std::size_t i = 0; i < gpus_; ++i) {
            std::int64_t out = 0;
            std::int64_t in = 0;
            for (std::size_t j = 0; j < gpus_; ++j) {
                out += left_[i][j];
                in += left_[j][i];
            }
            least = std::min({least, out, in});
        }
        return static_cast<std::size_t>(least);
    }

    // Cycles in rising order, each as often as it fits.
    void pack(std::size_t first) {
        if (chosen_.size() > best_.size()) best_ = chosen_;
        if (chosen_.size() + bound() <= best_.size()) return;
        for (std::size_t i = first; i < cycles_.size(); ++i) {
            if (++packings_ >= steps_max) return;
            if (take(cycles_[i])) {
                chosen_.push_back(i);
                pack(i);
                chosen_.pop_back();
            }
            give_back(cycles_[i]);
            if (chosen_.size() + bound() <= best_.size()) return;
        }
    }

    const Lanes& lanes_;
    std::size_t gpus_;
    bool relayed_;
    Cycle current_;
    std::vector<Cycle> cycles_;
    Lanes left_{};
    std::vector<std::size_t> chosen_;
    std::vector<std::size_t> best_;
    std::int64_t steps_ = 0;
    std::int64_t packings_ = 0;
};

// Of one NVLink between these devices; nothing if there is none.
std::optional<double> lane_rate(const Topology& topology, std::span<const DeviceId> gpus) {
    std::optional<double> least;
    for (const DeviceId gpu : gpus) {
        for (const LinkId id : topology.links_from(gpu)) {
            const Link& link = topology.link(id);
            if (link.kind != LinkKind::nvlink) continue;
            const double rate = link.bandwidth.raw() / link.lanes;
            least = std::min(least.value_or(rate), rate);
        }
    }
    return least;
}

// All on one plane: any order is a ring, as often as the GPU with the fewest lanes has some.
std::optional<RingPlan> rings_on_plane(const Topology& topology, std::span<const DeviceId> gpus) {
    for (const DeviceId plane : topology.devices_of(DeviceKind::nvswitch)) {
        std::uint32_t lanes = std::numeric_limits<std::uint32_t>::max();
        for (const DeviceId gpu : gpus) {
            lanes = std::min(lanes, topology.lanes_between(gpu, plane, LinkKind::nvlink));
        }
        if (lanes == 0) continue;
        RingPlan plan;
        plan.kind = RingKind::nvlink;
        plan.rings.assign(lanes, {gpus.begin(), gpus.end()});
        plan.bandwidth = BytesPerSecond::of(lanes * lane_rate(topology, gpus).value());
        return plan;
    }
    return std::nullopt;
}

RingPlan packed(const Topology& topology, std::span<const DeviceId> gpus, const Packing& packing,
                RingKind kind) {
    RingPlan plan;
    plan.kind = kind;
    plan.exhaustive = packing.exhaustive();
    for (const std::size_t index : packing.best()) {
        std::vector<DeviceId> ring;
        for (const std::size_t gpu : packing.cycle(index).order) ring.push_back(gpus[gpu]);
        plan.rings.push_back(std::move(ring));
    }
    plan.bandwidth = BytesPerSecond::of(static_cast<double>(plan.rings.size()) *
                                        lane_rate(topology, gpus).value());
    return plan;
}

// From each to the nearest that is left: GPUs behind one switch, then those of one socket.
std::vector<DeviceId> by_nearness(Routes& routes, std::span<const DeviceId> gpus) {
    std::vector<DeviceId> ring(gpus.begin(), gpus.end());
    for (std::size_t next = 1; next < ring.size(); ++next) {
        const auto left = std::span(ring).subspan(next);
        const auto nearest = std::ranges::min_element(
            left, {}, [&](DeviceId gpu) { return routes.route(ring[next - 1], gpu).size(); });
        std::rotate(left.begin(), nearest, nearest + 1);
    }
    return ring;
}

RingPlan routed_ring(const Topology& topology, std::span<const DeviceId> gpus) {
    Routes routes(topology);
    const std::vector<DeviceId> ring = by_nearness(routes, gpus);
    std::vector<std::int64_t> load(topology.links().size());
    for (std::size_t i = 0; i < ring.size(); ++i) {
        for (const LinkId link : routes.route(ring[i], ring[(i + 1) % ring.size()])) {
            ++load[ukemi::index_of(link)];
        }
    }
    RingPlan plan;
    plan.rings.push_back(ring);
    plan.bandwidth = BytesPerSecond::max();
    for (std::size_t i = 0; i < load.size(); ++i) {
        if (load[i] == 0) continue;
        const double rate = topology.links()[i].bandwidth.raw() / static_cast<double>(load[i]);
        plan.bandwidth = std::min(plan.bandwidth, BytesPerSecond::of(rate));
    }
    return plan;
}

}  // namespace

std::string_view to_string(RingKind kind) {
    switch (kind) {
        case RingKind::nvlink: return "nvlink";
        case RingKind::relayed: return "relayed";
        case RingKind::routed: return "routed";
    }
    INVARIANT(false);
    return {};
}

RingPlan find_rings(const Topology& topology, std::span<const DeviceId> gpus) {
    INVARIANT(gpus.size() >= 2);
    if (auto plan = rings_on_plane(topology, gpus)) return *plan;
    if (gpus.size() <= ring_gpus_max) {
        Lanes lanes{};
        for (std::size_t i = 0; i < gpus.size(); ++i) {
            for (std::size_t j = 0; j < gpus.size(); ++j) {
                INVARIANT(i == j || gpus[i] != gpus[j]);
                if (i == j) continue;
                lanes[i][j] = static_cast<std::int32_t>(
                    topology.lanes_between(gpus[i], gpus[j], LinkKind::nvlink));
            }
        }
        for (const RingKind kind : {RingKind::nvlink, RingKind::relayed}) {
            const Packing packing(lanes, gpus.size(), kind == RingKind::relayed);
            if (!packing.best().empty()) return packed(topology, gpus, packing, kind);
        }
    }
    return routed_ring(topology, gpus);
}

std::vector<std::vector<std::size_t>> ring_places(const RingPlan& plan,
                                                  std::span<const DeviceId> gpus) {
    std::vector<std::vector<std::size_t>> places;
    for (const std::vector<DeviceId>& ring : plan.rings) {
        std::vector<std::size_t>& order = places.emplace_back();
        for (const DeviceId gpu : ring) {
            order.push_back(static_cast<std::size_t>(std::ranges::find(gpus, gpu) - gpus.begin()));
        }
    }
    return places;
}

namespace {

// By ring: the place in its order of the GPU at which it enters a machine.
std::vector<std::size_t> entries_of(std::span<const std::vector<std::size_t>> inside,
                                    std::span<const WayOut> ways, std::size_t count) {
    const std::size_t each = inside.front().size();
    struct Load {
        int entered = 0;
        int left = 0;
    };
    std::vector<Load> loads(std::ranges::max(ways, {}, &WayOut::nic).nic + 1);
    // Entering at this place of its order, and so leaving at the one before.
    const auto move = [&](std::size_t ring, std::size_t place, int by) {
        const std::vector<std::size_t>& order = inside[ring % inside.size()];
        loads[ways[order[place]].nic].entered += by;
        loads[ways[order[(place + each - 1) % each]].nic].left += by;
    };
    const auto load = [&](std::size_t ring, std::size_t place) {
        const std::vector<std::size_t>& order = inside[ring % inside.size()];
        const WayOut& enters = ways[order[place]];
        const WayOut& leaves = ways[order[(place + each - 1) % each]];
        const int in = loads[enters.nic].entered;
        const int out = loads[leaves.nic].left;
        const int narrow = (enters.is_narrow ? 1 : 0) + (leaves.is_narrow ? 1 : 0);
        const std::size_t here = order[place];
        const auto near = leaves.links.empty() ? 0 : -static_cast<int>(leaves.links[here]);
        return std::tuple(std::max(in, out), narrow, near, in + out);
    };
    std::vector<std::size_t> entries(count, each - 1);
    constexpr int rounds = 8;  // in which each may find a better place than it had
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t ring = 0; ring < count; ++ring) {
            if (round > 0) move(ring, entries[ring], -1);
            // Of equals the next, so that rings make room for each other.
            std::size_t best = (entries[ring] + 1) % each;
            for (std::size_t i = 1; i < each; ++i) {
                const std::size_t place = (entries[ring] + 1 + i) % each;
                if (load(ring, place) < load(ring, best)) best = place;
            }
            entries[ring] = best;
            move(ring, best, 1);
        }
    }
    return entries;
}

}  // namespace

std::vector<WayOut> ways_out(const Topology& topology, std::span<const DeviceId> workers,
                             std::size_t each) {
    std::vector<WayOut> ways(each);
    if (workers.size() <= each) return ways;
    Routes routes(topology);
    struct Nic {
        DeviceId id{};
        double rate = 0;
    };
    std::vector<Nic> known;
    std::map<LinkId, std::set<std::size_t>> reached;  // NICs, by the link between sockets
    std::vector<std::vector<LinkId>> crossed(each);   // such links, by place
    for (std::size_t place = 0; place < each; ++place) {
        for (const LinkId id : routes.route(workers[place], workers[each + place])) {
            const Link& link = topology.link(id);
            if (link.kind == LinkKind::socket) crossed[place].push_back(id);
            if (link.kind != LinkKind::network) continue;
            const auto found = std::ranges::find(known, link.from, &Nic::id);
            ways[place].nic = static_cast<std::size_t>(found - known.begin());
            if (found == known.end()) known.push_back({link.from, link.bandwidth.raw()});
            for (const LinkId socket : crossed[place]) reached[socket].insert(ways[place].nic);
            break;
        }
    }
    const auto is_narrow = [&](LinkId socket) {
        double rates = 0;
        for (const std::size_t nic : reached[socket]) rates += known[nic].rate;
        return topology.link(socket).bandwidth.raw() < rates;
    };
    for (std::size_t place = 0; place < each; ++place) {
        ways[place].is_narrow = std::ranges::any_of(crossed[place], is_narrow);
    }
    return ways;
}

std::vector<std::vector<std::int32_t>> rings_through(
    std::span<const std::vector<std::size_t>> inside, std::span<const WayOut> ways,
    std::size_t count, std::size_t ranks) {
    const std::vector<std::size_t> entries = entries_of(inside, ways, count);
    std::vector<std::vector<std::int32_t>> orders(count);
    for (std::size_t ring = 0; ring < count; ++ring) {
        const std::vector<std::size_t>& order = inside[ring % inside.size()];
        for (std::size_t i = 0; i < ranks; ++i) {
            const std::size_t here = i % order.size();
            orders[ring].push_back(
                static_cast<std::int32_t>(i - here + order[(here + entries[ring]) % order.size()]));
        }
    }
    return orders;
}

BytesPerSecond ring_bus_bandwidth(const RingPlan& plan, std::size_t gpus,
                                  const RingEfficiency& efficiency) {
    INVARIANT(gpus >= 2);
    const double share =
        efficiency.wire * (plan.kind == RingKind::relayed ? efficiency.relay : 1.0);
    const double sends = 2 * (static_cast<double>(gpus) - 1);
    const double seconds_per_byte =
        1 / (share * plan.bandwidth.raw()) + efficiency.copy_s_per_byte / sends;
    return BytesPerSecond::of(1 / seconds_per_byte);
}

}  // namespace ukemi::sim
