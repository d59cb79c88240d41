// fair_share.hpp — exact max-min fair rates of flows over shared links, solved again only where
// something changed.
//
// Rates are max-min fair if every flow has a saturated link on which no flow is faster (Bertsekas
// and Gallager, "Data Networks", 1992, section 6.5.2). Progressive filling raises all rates
// together; a flow stops at the level at which the first of its links is full. A hop of k parts
// counts as k of them there, of which an ordinary flow has Hop::whole.
//
// How a change is followed without filling anew: every link remembers the level at which it was
// full. Filling proceeds upwards in level, but only links with a flow that came, went or changed
// its rate are looked at; flows of all others stop where they stopped before. Such a link is full
// at a new level, cutting flows that were faster, or passes its old level without being full, so
// that the flows which only it had held go on rising. Both make the flow's other links look again
// at what lies above. So the work is that of the flows whose rate really changes and of the links
// that they cross, and what is below the level of a change is never looked at.
//
// Rates and levels within 1e-12 of an earlier value keep it, so that rounding does not travel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "sim/network/level_agenda.hpp"
#include "sim/network/link.hpp"
#include "sim/network/plain_list.hpp"

namespace ukemi::sim {

class FairShare {
public:
    using Slot = std::uint32_t;  // names a flow; chosen by the caller, dense, used again

    static constexpr double unlimited = std::numeric_limits<double>::infinity();

    LinkId add_link(double capacity);
    // Hops of different links, at least one.
    RouteId add_route(std::span<const Hop> hops);
    std::size_t link_count() const { return links_.size(); }
    std::span<const Hop> hops(RouteId route) const {
        return hops(routes_[static_cast<std::size_t>(route)]);
    }

    // Changes count from the next solve() on; any number of them may be taken together.
    void add(Slot slot, RouteId route);
    void remove(Slot slot);
    void set_capacity(LinkId link, double capacity);
    // A flow that wants no more than this; unlimited at first. It keeps it until it is removed.
    void set_cap(Slot slot, double cap);

    // The flow stands for so many alike, one at first; its rate is that of one of them.
    void set_strands(Slot slot, std::uint32_t strands);

    // Flows with another rate than before, new ones included, each once.
    std::span<const Slot> solve();
    bool settled() const { return added_.empty() && disturbed_.empty() && recapped_.empty(); }
    bool contains(Slot slot) const { return slot < flows_.size() && flows_[slot].present; }
    double rate(Slot slot) const { return flows_[slot].rate; }
    bool is_crossed(LinkId link) const {
        return !links_[static_cast<std::size_t>(link)].members.empty();
    }
    double capacity(LinkId link) const {
        return links_[static_cast<std::size_t>(link)].capacity / Hop::whole;
    }

    // The first flow or link that breaks the max-min conditions by more than 1e-9 of its value, or
    // empty. To be asked after solve(); looks at everything.
    std::string fault() const;

    // How many link and flow visits solving took so far: the work, for benchmarks.
    std::uint64_t visit_count() const { return visit_count_; }

private:
    enum class Standing : std::uint8_t {
        kept,   // stops where it stopped before, as far as is known
        open,   // still rising
        fixed,  // has its new rate
    };
    struct Route {  // a part of hops_
        std::uint32_t begin = 0;
        std::uint32_t count = 0;
    };
    struct Flow {
        double rate = 0;
        double cap = unlimited;
        std::uint64_t round = 0;  // of the solve that standing belongs to; else it is kept
        Route route;
        std::uint32_t strands = 1;
        Standing standing = Standing::kept;
        bool present = false;
    };
    struct Member {
        Slot slot = 0;
        std::uint32_t hop = 0;
        std::uint32_t parts = Hop::whole;
    };
    struct Kept {
        double rate = 0;
        Slot slot = 0;
        std::uint32_t parts = Hop::whole;
    };
    struct LinkState {
        double capacity = 0;       // in parts, so exactly Hop::whole times what was given
        double level = unlimited;  // at which it is full; unlimited: it holds nobody
        PlainList<Member> members;
        // Of the present solve, if round says so.
        std::uint64_t round = 0;
        bool full = false;   // has its new level: it is full, or has one flow, settled
        bool woken = false;  // has passed its old level
        bool to_review = false;
        double fixed_sum = 0;
        std::int64_t open_parts = 0;
        std::int64_t kept_parts = 0;
        PlainList<Kept> kept;  // ascending by rate; some may have got another standing since
    };
    static constexpr std::uint32_t short_route = 8;

    Standing standing(const Flow& flow) const {
        return flow.round == round_ ? flow.standing : Standing::kept;
    }
    std::span<const Hop> hops(const Route& route) const {
        return {hops_.data() + route.begin, route.count};
    }
    std::uint32_t* positions(Slot slot) {
        return flows_[slot].route.count <= short_route
                   ? short_positions_.data() + std::size_t{slot} * short_route
                   : long_positions_[slot].data();
    }
    void reserve(Slot slot);
    void reserve_positions(Slot slot);
    bool settle_alone(Slot slot);
    void fix(Slot slot, double rate);
    template <Standing to>
    void move(Slot slot, double rate);
    LinkState& enter(std::uint32_t link) {
        LinkState& state = links_[link];
        if (state.round != round_) take_part(link);
        return state;
    }
    void take_part(std::uint32_t link);
    static void sort_kept(PlainList<Kept>& kept);
    void review_later(std::uint32_t link);
    void review_all();
    void review(std::uint32_t link);
    void queue(LevelEvent event, std::uint32_t index, double level) {
        agenda_.put(event, index, std::max(level, level_));
    }
    void queue_cap(Slot slot);
    void begin_round();
    void fill(std::uint32_t link);
    void wake(std::uint32_t link);
    bool held_elsewhere(Slot slot, std::uint32_t link) const;

    std::vector<LinkState> links_;
    std::vector<Route> routes_;
    std::vector<Hop> hops_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> short_positions_;              // short_route for each slot
    std::vector<std::vector<std::uint32_t>> long_positions_;  // of longer routes

    PlainList<Slot> added_;
    PlainList<std::uint32_t> disturbed_;
    PlainList<Slot> recapped_;

    std::uint64_t round_ = 1;
    double level_ = 0;  // up to which filling has come
    LevelAgenda agenda_;
    PlainList<std::uint32_t> to_review_;
    PlainList<std::uint32_t> entered_;
    PlainList<Slot> changed_;
    std::uint64_t visit_count_ = 0;
};

}  // namespace ukemi::sim
