// flow_swarm_test.cpp — flows that start, end, change and are cancelled together, at one tick:
// their rates and ends are those of filling anew at every event.
//
// Beside each network goes a model of its own: what is left of every flow, in long double, and
// rates by progressive filling from nothing. The network says when something happens and the model
// says whether that is right: a flow that is told of has nothing left, and one that has nothing
// left was told of.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.hpp"
#include "sim/network/flow_network.hpp"
#include "tests/sim/network/filling_anew.hpp"
#include "tests/swarm_seeds.hpp"

using namespace ukemi;
using namespace ukemi::sim;

namespace {

struct ModelledFlow {
    FlowNetwork::FlowId id;
    FilledFlow filled;
    double bytes = 0;
    double delay_s_per_byte = 0;
    FlowNetwork::Tick moves_from = 0;
    bool moves = false;
    long double left = 0;
    long double rate = 0;
    long double pace = 0;
};

class TwoNetworks {
public:
    explicit TwoNetworks(std::uint64_t seed) : random_(seed, "test/flow_swarm") {
        few_values_ = random_.chance(0.5);  // many ties
        const std::int64_t links = random_.integer(1, 8);
        for (std::int64_t i = 0; i < links; ++i) {
            capacities_.push_back(capacity());
            network_.add_link({BytesPerSecond::of(std::max(capacities_.back(), 1e6)), {}});
            network_.set_bandwidth(static_cast<LinkId>(i), BytesPerSecond::of(capacities_.back()));
        }
        for (std::int64_t i = random_.integer(1, 12); i > 0; --i) add_route();
    }

    // Does something at the present tick, and plays the next; what is wrong, or empty.
    std::string play() {
        for (std::int64_t i = random_.integer(0, 5); i > 0; --i) change();
        // Else the next tick's changes may come on top of these, unless time passes.
        if (random_.chance(0.9)) {
            const std::string fault = compare();
            if (!fault.empty()) return fault;
        }
        return step();
    }
    std::int64_t compared() const { return compared_; }
    std::int64_t finished() const { return finished_; }

private:
    struct Route {
        RouteId id{};
        std::vector<Hop> hops;
        Duration latency;
    };

    double capacity() {
        if (random_.chance(0.05)) return 0;
        if (few_values_) return static_cast<double>(random_.integer(1, 4)) * 0.5e9;
        return 1e7 + 1e10 * random_.uniform();
    }

    void add_route() {
        Route route;
        const auto links = static_cast<std::int64_t>(capacities_.size());
        for (std::int64_t link = 0; link < links; ++link) {
            if (!random_.chance(0.4)) continue;
            const std::int64_t parts =
                random_.chance(0.2) ? random_.integer(1, 4 * Hop::whole) : Hop::whole;
            route.hops.push_back({static_cast<LinkId>(link), static_cast<std::uint32_t>(parts)});
        }
        if (route.hops.empty()) {
            route.hops.push_back({static_cast<LinkId>(random_.integer(0, links - 1))});
        }
        route.latency = nanoseconds(random_.chance(0.8) ? 0 : 500 * random_.integer(1, 4));
        route.id = network_.add_route(route.hops, route.latency);
        routes_.push_back(route);
    }

    double size() {
        if (random_.chance(0.05)) return 0;
        if (random_.chance(0.05)) return FlowNetwork::endless;
        if (few_values_) return 500 * static_cast<double>(random_.integer(1, 6));
        return 1 + 5000 * random_.uniform();
    }

    void start() {
        const Route& route = routes_[static_cast<std::size_t>(
            random_.integer(0, static_cast<std::int64_t>(routes_.size()) - 1))];
        ModelledFlow flow;
        flow.filled.hops = route.hops;
        flow.bytes = size();
        flow.left = flow.bytes;
        if (random_.chance(0.2)) flow.filled.cap = capacity() / 3;
        if (random_.chance(0.2)) flow.delay_s_per_byte = 1e-9 * random_.uniform();
        flow.moves_from = network_.now_ticks() + route.latency.raw() * 65536;
        flow.moves = route.latency == Duration{};
        const std::uint64_t tag = next_tag_++;
        flow.id = network_.start(route.id, flow.bytes, tag,
                                 {flow.delay_s_per_byte, false, flow.filled.cap});
        flows_[tag] = flow;
    }

    std::map<std::uint64_t, ModelledFlow>::iterator any_flow() {
        return std::next(flows_.begin(),
                         random_.integer(0, static_cast<std::int64_t>(flows_.size()) - 1));
    }

    void change() {
        changed_ = true;
        if (random_.chance(0.2)) {
            const auto link = static_cast<std::size_t>(
                random_.integer(0, static_cast<std::int64_t>(capacities_.size()) - 1));
            if (!random_.chance(0.1)) capacities_[link] = capacity();  // else it stays what it is
            network_.set_bandwidth(static_cast<LinkId>(link),
                                   BytesPerSecond::of(capacities_[link]));
        } else if (flows_.size() > 14 || (!flows_.empty() && random_.chance(0.3))) {
            const auto flow = any_flow();
            network_.cancel(flow->second.id);
            flows_.erase(flow);
        } else if (!flows_.empty() && random_.chance(0.2)) {
            ModelledFlow& flow = any_flow()->second;
            if (!flow.moves || flow.left <= 0 || flow.delay_s_per_byte > 0) return;
            flow.filled.cap = random_.chance(0.3) ? FairShare::unlimited : capacity() / 3;
            network_.set_pace_cap(flow.id, flow.filled.cap);
        } else {
            start();
        }
    }

    void fill() {
        std::vector<FilledFlow> filled;
        for (auto& [tag, flow] : flows_) {
            if (flow.moves && flow.bytes > 0) filled.push_back(flow.filled);
        }
        const std::vector<long double> rates = filled_anew(capacities_, filled);
        std::size_t next = 0;
        for (auto& [tag, flow] : flows_) {
            flow.rate = flow.moves && flow.bytes > 0 ? rates[next++] : 0;
            flow.pace = flow.rate / (1 + flow.delay_s_per_byte * flow.rate);
        }
    }

    std::string compare() {
        fill();
        compared_ += std::exchange(changed_, false) ? 1 : 0;
        const double most = *std::ranges::max_element(capacities_);
        for (const auto& [tag, flow] : flows_) {
            const double rate = network_.rate(flow.id);
            const auto expected = static_cast<double>(flow.rate);
            if (std::abs(rate - expected) <= 1e-9 * expected + 1e-12 * most) continue;
            return fmt::format("flow {} has {} B/s, expected {}", tag, rate, expected);
        }
        return network_.fault();
    }

    // Of what is left when a flow's end was rounded to a tick.
    static long double rounding(const ModelledFlow& flow) {
        return flow.pace / FlowNetwork::ticks_per_second + 1e-10 * flow.bytes;
    }

    std::string step() {
        const Instant limit = random_.chance(0.5)
                                  ? Instant::never()
                                  : network_.now() + nanoseconds(random_.integer(1, 3000));
        fill();
        const FlowNetwork::Tick before = network_.now_ticks();
        const bool happened = network_.step(limit);
        const FlowNetwork::Tick now = network_.now_ticks();
        const long double passed =
            static_cast<long double>(now - before) / FlowNetwork::ticks_per_second;
        for (auto& [tag, flow] : flows_) {
            flow.left -= flow.pace * passed;
            if (flow.moves || flow.moves_from > now) continue;
            if (flow.moves_from < now) return fmt::format("flow {} was not begun in time", tag);
            flow.moves = changed_ = true;
        }
        for (const FlowNetwork::Happening& happening : network_.happenings()) {
            const auto found = flows_.find(happening.tag);
            if (found == flows_.end()) return fmt::format("flow {} ends again", happening.tag);
            const ModelledFlow& flow = found->second;
            if (!flow.moves || std::abs(flow.left) > rounding(flow)) {
                return fmt::format("flow {} ends with {} of {} bytes left", happening.tag,
                                   static_cast<double>(flow.left), flow.bytes);
            }
            flows_.erase(found);
            ++finished_;
            changed_ = true;
        }
        for (const auto& [tag, flow] : flows_) {
            if (flow.left < -rounding(flow)) return fmt::format("flow {} did not end", tag);
            const bool ends = flow.moves && flow.pace > 0 && flow.bytes < FlowNetwork::endless;
            if (ends && !happened && limit == Instant::never()) {
                return fmt::format("flow {} is forgotten", tag);
            }
        }
        return {};
    }

    RandomStream random_;
    FlowNetwork network_;
    bool few_values_ = false;
    std::vector<double> capacities_;
    std::vector<Route> routes_;
    std::map<std::uint64_t, ModelledFlow> flows_;  // by tag
    std::uint64_t next_tag_ = 0;
    bool changed_ = false;
    std::int64_t compared_ = 0;
    std::int64_t finished_ = 0;
};

}  // namespace

TEST_CASE("flow swarm: within one tick flows start, end, change and are cancelled",
          "[network][swarm][property]") {
    SwarmSeeds seeds("test_network [swarm]", 0, 1);
    constexpr std::int64_t compared_least = 200'000;
    std::int64_t compared = 0;
    std::int64_t finished = 0;
    while (seeds.more(compared >= compared_least)) {
        const std::uint64_t seed = seeds.now();
        CAPTURE(seed);
        TwoNetworks networks(seed);
        for (int step = 0; step < 300; ++step) {
            const std::string fault = networks.play();
            if (fault.empty()) continue;
            CAPTURE(step);
            FAIL(fault);
        }
        compared += networks.compared();
        finished += networks.finished();
    }
    fmt::print("flow swarm: {} networks, {} solves compared, {} flows finished\n",
               seeds.looked_at(), compared, finished);
    if (seeds.one_alone()) return;
    CHECK(finished > compared_least / 10);
}
