// fair_share.cpp — progressive filling that follows changes upwards in level.
#include "sim/network/fair_share.hpp"

#include <algorithm>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

constexpr double same_within = 1e-12;
bool not_above(double a, double b) { return a <= b * (1 + same_within); }
constexpr std::size_t unlimited_hops = std::size_t{1} << 32;
bool nearly_equal(double a, double b) { return not_above(a, b) && not_above(b, a); }

}  // namespace

LinkId FairShare::add_link(double capacity) {
    INVARIANT(capacity >= 0 && capacity < unlimited);
    links_.emplace_back().capacity = capacity * Hop::whole;
    agenda_.reserve(links_.size());
    return static_cast<LinkId>(links_.size() - 1);
}

RouteId FairShare::add_route(std::span<const Hop> hops) {
    INVARIANT(!hops.empty());
    for (const Hop& hop : hops) INVARIANT(index_of_link(hop.link) < links_.size() && hop.parts > 0);
    INVARIANT(hops_.size() + hops.size() < unlimited_hops);
    routes_.push_back(
        {static_cast<std::uint32_t>(hops_.size()), static_cast<std::uint32_t>(hops.size())});
    hops_.insert(hops_.end(), hops.begin(), hops.end());
    return static_cast<RouteId>(routes_.size() - 1);
}

void FairShare::reserve(Slot slot) {
    const std::size_t count = std::max<std::size_t>(slot + std::size_t{1}, 2 * flows_.size());
    flows_.resize(count);
    agenda_.reserve(count);
    short_positions_.resize(count * short_route);
}

void FairShare::reserve_positions(Slot slot) {
    const std::size_t count = flows_[slot].route.count;
    if (count <= short_route) return;
    if (long_positions_.size() <= slot) long_positions_.resize(slot + std::size_t{1});
    if (long_positions_[slot].size() < count) long_positions_[slot].resize(count);
}

void FairShare::add(Slot slot, RouteId route) {
    if (slot >= flows_.size()) reserve(slot);
    Flow& flow = flows_[slot];
    INVARIANT(!flow.present);
    flow.rate = 0;
    flow.cap = unlimited;
    flow.round = round_ + 1;
    flow.route = routes_[static_cast<std::size_t>(route)];
    flow.strands = 1;
    flow.standing = Standing::open;
    flow.present = true;
    if (flow.route.count > short_route) reserve_positions(slot);
    std::uint32_t* const position = positions(slot);
    const std::span<const Hop> crossed = hops(flow.route);
    for (std::uint32_t i = 0; i < crossed.size(); ++i) {
        PlainList<Member>& members = links_[index_of_link(crossed[i].link)].members;
        position[i] = static_cast<std::uint32_t>(members.size());
        members.push({slot, i, crossed[i].parts});
    }
    added_.push(slot);
}

void FairShare::remove(Slot slot) {
    Flow& flow = flows_[slot];
    INVARIANT(flow.present);
    const std::uint32_t* const position = positions(slot);
    const std::span<const Hop> crossed = hops(flow.route);
    for (std::uint32_t i = 0; i < crossed.size(); ++i) {
        const std::uint32_t index = index_of_link(crossed[i].link);
        LinkState& link = links_[index];
        const Member last = link.members.back();
        link.members.pop();
        if (position[i] < link.members.size()) {
            link.members[position[i]] = last;
            positions(last.slot)[last.hop] = position[i];
        }
        if (link.members.empty()) {
            link.level = unlimited;
        } else if (link.level < unlimited) {
            disturbed_.push(index);
        }
    }
    flow.present = false;
    if (flow.round != round_ + 1) return;
    added_.shrink_to(
        static_cast<std::size_t>(std::remove(added_.begin(), added_.end(), slot) - added_.begin()));
}

void FairShare::set_capacity(LinkId link, double capacity) {
    INVARIANT(capacity >= 0 && capacity < unlimited);
    links_[index_of_link(link)].capacity = capacity * Hop::whole;
    disturbed_.push(index_of_link(link));
}

void FairShare::set_cap(Slot slot, double cap) {
    Flow& flow = flows_[slot];
    INVARIANT(flow.present && cap >= 0);
    if (flow.cap == cap) return;
    const bool matters = cap < flow.rate || not_above(flow.cap, flow.rate);
    flow.cap = cap;
    if (matters && flow.round <= round_) recapped_.push(slot);  // else it is new anyway
}

void FairShare::set_strands(Slot slot, std::uint32_t strands) {
    Flow& flow = flows_[slot];
    INVARIANT(flow.present && strands > 0);
    flow.strands = strands;
    const std::uint32_t* const position = positions(slot);
    const std::span<const Hop> crossed = hops(flow.route);
    for (std::size_t i = 0; i < crossed.size(); ++i) {
        const std::uint32_t index = index_of_link(crossed[i].link);
        links_[index].members[position[i]].parts = crossed[i].parts * strands;
        disturbed_.push(index);
    }
}

// Gives a flow another standing, and has the links that it crosses look again.
template <FairShare::Standing to>
[[gnu::always_inline]] inline void FairShare::move(Slot slot, double rate) {
    Flow& flow = flows_[slot];
    const Standing from = standing(flow);
    const std::span<const Hop> crossed = hops(flow.route);
    for (const Hop& hop : crossed) {
        const std::uint32_t index = index_of_link(hop.link);
        LinkState& link = links_[index];
        if (link.round != round_) {
            // A flow that was kept is fixed only to get less, which leaves a link with room as it
            // is.
            constexpr bool to_fixed = to == Standing::fixed;
            if (to_fixed && from == Standing::kept && link.level == unlimited) continue;
            take_part(index);  // counts the flow as it was
        }
        if (link.full) continue;  // and looks at nothing any more
        const std::uint32_t parts = hop.parts * flow.strands;
        (from == Standing::open ? link.open_parts : link.kept_parts) -= parts;
        if (to == Standing::open) {
            link.open_parts += parts;
        } else {
            link.fixed_sum += parts * rate;
        }
        if (link.open_parts + link.kept_parts == 0) {
            agenda_.erase_link(index);
        } else if (!link.to_review) {
            link.to_review = true;
            to_review_.push(index);
        }
    }
    flow.round = round_;
    flow.standing = to;
    if (to == Standing::fixed) {
        flow.rate = rate;
        if (flow.cap < unlimited) agenda_.erase_flow(slot);
    } else {
        queue_cap(slot);
    }
    visit_count_ += crossed.size();
}

void FairShare::fix(Slot slot, double rate) {
    Flow& flow = flows_[slot];
    const double old = flow.rate;
    const double kept = nearly_equal(old, rate) && old > 0 ? old : rate;
    move<Standing::fixed>(slot, kept);
    if (kept != old || old == 0) changed_.push(slot);
}

std::span<const FairShare::Slot> FairShare::solve() {
    changed_.clear();
    if (settled()) return {};
    begin_round();
    review_all();
    while (!agenda_.empty()) {
        const LevelAgenda::Entry next = agenda_.take();
        level_ = next.level;
        switch (next.event) {
            case LevelEvent::link_full: fill(next.index); break;
            case LevelEvent::cap_reached: fix(next.index, level_); break;
            case LevelEvent::link_wakes: wake(next.index); break;
        }
        review_all();
    }
    for (const std::uint32_t index : entered_) {
        LinkState& link = links_[index];
        if (!link.full) link.level = unlimited;
    }
    return {changed_.begin(), changed_.size()};
}

// What changed, as seen from level zero.
void FairShare::begin_round() {
    ++round_;
    level_ = 0;
    entered_.clear();
    for (const Slot slot : recapped_) {
        if (!flows_[slot].present || standing(flows_[slot]) != Standing::kept) continue;
        move<Standing::open>(slot, 0);
    }
    for (const Slot slot : added_) {
        if (settle_alone(slot)) continue;
        queue_cap(slot);
        for (const Hop& hop : hops(flows_[slot].route)) review_later(index_of_link(hop.link));
    }
    for (const std::uint32_t link : disturbed_) {
        if (!links_[link].members.empty()) review_later(link);
    }
    added_.clear();
    disturbed_.clear();
    recapped_.clear();
}

// A flow that shares no link needs no filling.
bool FairShare::settle_alone(Slot slot) {
    Flow& flow = flows_[slot];
    double rate = flow.cap;
    const std::span<const Hop> crossed = hops(flow.route);
    const auto level_of = [&](const Hop& hop, const LinkState& link) {
        const std::uint32_t parts = hop.parts * flow.strands;
        return parts == Hop::whole ? link.capacity * (1.0 / Hop::whole) : link.capacity / parts;
    };
    for (const Hop& hop : crossed) {
        const LinkState& link = links_[index_of_link(hop.link)];
        if (link.members.size() != 1) return false;
        rate = std::min(rate, level_of(hop, link));
    }
    for (const Hop& hop : crossed) {
        LinkState& link = links_[index_of_link(hop.link)];
        const double level = level_of(hop, link);
        link.level = level <= rate ? level : unlimited;
        // Whatever else happened to the link, this is its level, and nobody looks again.
        link.round = round_;
        link.to_review = false;
        link.full = true;
    }
    flow.standing = Standing::fixed;
    flow.round = round_;
    flow.rate = rate;
    changed_.push(slot);
    return true;
}

// Most often two or three, which std::sort takes twice as long for.
void FairShare::sort_kept(PlainList<Kept>& kept) {
    const auto slower = [](const Kept& a, const Kept& b) {
        return a.rate < b.rate || (a.rate == b.rate && a.slot < b.slot);
    };
    constexpr std::size_t few = 16;
    if (kept.size() > few) return std::sort(kept.begin(), kept.end(), slower);
    for (Kept* next = kept.begin() + 1; next < kept.end(); ++next) {
        const Kept moved = *next;
        Kept* place = next;
        for (; place > kept.begin() && slower(moved, place[-1]); --place) *place = place[-1];
        *place = moved;
    }
}

// The link takes part in this solve.
void FairShare::take_part(std::uint32_t index) {
    LinkState& link = links_[index];
    link.round = round_;
    link.full = link.woken = link.to_review = false;
    entered_.push(index);
    double fixed_sum = 0;
    std::int64_t open_parts = 0;
    std::int64_t kept_parts = 0;
    Kept* const kept = link.kept.room_for(link.members.size());
    std::size_t kept_count = 0;
    double fastest = 0;
    bool ascending = true;
    for (const Member& member : link.members) {
        const Flow& flow = flows_[member.slot];
        if (flow.round != round_) {
            ascending &= fastest <= flow.rate;
            fastest = flow.rate;
            kept_parts += member.parts;
            kept[kept_count++] = {flow.rate, member.slot, member.parts};
        } else if (flow.standing == Standing::open) {
            open_parts += member.parts;
        } else {
            fixed_sum += member.parts * flow.rate;
        }
    }
    link.kept.shrink_to(kept_count);
    link.fixed_sum = fixed_sum;
    link.open_parts = open_parts;
    link.kept_parts = kept_parts;
    visit_count_ += link.members.size();
    if (!ascending) sort_kept(link.kept);
}

void FairShare::review_later(std::uint32_t index) {
    LinkState& link = enter(index);
    if (link.to_review || link.full) return;
    link.to_review = true;
    to_review_.push(index);
}

void FairShare::queue_cap(Slot slot) {
    if (flows_[slot].cap == unlimited) return;
    queue(LevelEvent::cap_reached, slot, flows_[slot].cap);
}

// At which level is the link full, if flows with a standing of kept stop at their old rates?
[[gnu::always_inline]] inline void FairShare::review(std::uint32_t index) {
    LinkState& link = links_[index];
    if (link.full) return;
    if (link.kept_parts == 0) {
        if (link.open_parts == 0) return agenda_.erase_link(index);
        const double full_at =
            (link.capacity - link.fixed_sum) / static_cast<double>(link.open_parts);
        queue(LevelEvent::link_full, index,
              nearly_equal(full_at, link.level) ? link.level : full_at);
        return;
    }
    const auto is_kept = [&](const Kept& kept) {
        return standing(flows_[kept.slot]) == Standing::kept;
    };
    // Flows that it held before stop at its old level only if it is full there again.
    bool holds = false;
    if (!link.woken && link.level < unlimited) {
        while (!link.kept.empty() && !is_kept(link.kept.back())) link.kept.pop();
        holds = !link.kept.empty() && not_above(link.level, link.kept.back().rate);
    }
    double sum = link.fixed_sum;
    std::int64_t rising = link.open_parts + link.kept_parts;
    double full_at = unlimited;
    const Kept* kept = link.kept.begin();
    const Kept* const end = link.kept.end();
    for (; kept != end; ++kept) {
        if (!is_kept(*kept)) continue;
        // Is the level at which it is full not above the rate? That needs no division.
        const double rest = link.capacity - sum;
        if (not_above(rest, kept->rate * static_cast<double>(rising))) {
            const double level = rest / static_cast<double>(rising);
            full_at = nearly_equal(level, kept->rate) ? kept->rate : level;
            break;
        }
        sum += kept->parts * kept->rate;
        rising -= kept->parts;
    }
    visit_count_ += static_cast<std::uint64_t>(kept - link.kept.begin());
    if (kept == end && rising > 0) {
        full_at = (link.capacity - sum) / static_cast<double>(rising);
        if (nearly_equal(full_at, link.level)) full_at = link.level;
    }
    if (holds && full_at > link.level) {
        queue(LevelEvent::link_wakes, index, link.level);
    } else if (full_at < unlimited) {
        queue(LevelEvent::link_full, index, full_at);
    } else {
        agenda_.erase_link(index);
    }
}

void FairShare::review_all() {
    for (const std::uint32_t index : to_review_) {
        links_[index].to_review = false;
        review(index);
    }
    to_review_.clear();
}

// Nobody on this link gets more than the present level.
void FairShare::fill(std::uint32_t index) {
    LinkState& link = links_[index];
    link.full = true;
    link.level = level_;
    for (const Member& member : link.members) {
        const Flow& flow = flows_[member.slot];
        const Standing now = standing(flow);
        if (now == Standing::fixed) continue;
        if (now == Standing::kept && not_above(flow.rate, level_)) continue;
        fix(member.slot, level_);
    }
}

// The level at which the link was full has passed: what it alone held rises on.
void FairShare::wake(std::uint32_t index) {
    LinkState& link = links_[index];
    link.woken = true;
    for (const Member& member : link.members) {
        const Flow& flow = flows_[member.slot];
        if (standing(flow) != Standing::kept || !not_above(link.level, flow.rate)) continue;
        if (!held_elsewhere(member.slot, index)) move<Standing::open>(member.slot, 0);
    }
    review_later(index);
}

bool FairShare::held_elsewhere(Slot slot, std::uint32_t but) const {
    const Flow& flow = flows_[slot];
    if (not_above(flow.cap, flow.rate)) return true;
    for (const Hop& hop : hops(flow.route)) {
        const std::uint32_t index = index_of_link(hop.link);
        const LinkState& link = links_[index];
        if (index == but || !not_above(link.level, flow.rate)) continue;
        if (link.round != round_ || link.full || !link.woken) return true;
    }
    return false;
}

}  // namespace ukemi::sim
