// fair_share.cpp — progressive filling that follows changes upwards in level.
#include "sim/network/fair_share.hpp"

#include <algorithm>
#include <tuple>

#include "base/invariant.hpp"

namespace ukemi::sim {
namespace {

constexpr double same_within = 1e-12;
bool not_above(double a, double b) { return a <= b * (1 + same_within); }
bool nearly_equal(double a, double b) { return not_above(a, b) && not_above(b, a); }

}  // namespace

LinkId FairShare::add_link(double capacity) {
    INVARIANT(capacity >= 0 && capacity < unlimited);
    links_.emplace_back().capacity = capacity;
    return static_cast<LinkId>(links_.size() - 1);
}

RouteId FairShare::add_route(std::span<const Hop> hops) {
    INVARIANT(!hops.empty());
    for (const Hop& hop : hops) INVARIANT(index_of_link(hop.link) < links_.size() && hop.edges > 0);
    routes_.push_back({hops_.size(), static_cast<std::uint32_t>(hops.size())});
    hops_.insert(hops_.end(), hops.begin(), hops.end());
    return static_cast<RouteId>(routes_.size() - 1);
}

void FairShare::reserve(Slot slot) {
    if (slot < flows_.size()) return;
    const std::size_t count = std::max<std::size_t>(slot + std::size_t{1}, 2 * flows_.size());
    flows_.resize(count);
    short_positions_.resize(count * short_route);
}

std::uint32_t* FairShare::positions(Slot slot) {
    const std::size_t count = hops(flows_[slot].route).size();
    if (count <= short_route) return short_positions_.data() + std::size_t{slot} * short_route;
    if (long_positions_.size() <= slot) long_positions_.resize(slot + std::size_t{1});
    if (long_positions_[slot].size() < count) long_positions_[slot].resize(count);
    return long_positions_[slot].data();
}

void FairShare::add(Slot slot, RouteId route) {
    reserve(slot);
    Flow& flow = flows_[slot];
    INVARIANT(!flow.present);
    flow = {0, unlimited, route, round_ + 1, Standing::open, true, 1};
    std::uint32_t* const position = positions(slot);
    const std::span<const Hop> crossed = hops(route);
    for (std::uint32_t i = 0; i < crossed.size(); ++i) {
        std::vector<Member>& members = links_[index_of_link(crossed[i].link)].members;
        position[i] = static_cast<std::uint32_t>(members.size());
        members.push_back({slot, i, crossed[i].edges});
    }
    added_.push_back(slot);
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
        link.members.pop_back();
        if (position[i] < link.members.size()) {
            link.members[position[i]] = last;
            positions(last.slot)[last.hop] = position[i];
        }
        if (link.members.empty()) {
            link.level = unlimited;
        } else if (link.level < unlimited) {
            disturbed_.push_back(index);
        }
    }
    flow.present = false;
    if (flow.round == round_ + 1) std::erase(added_, slot);
}

void FairShare::set_capacity(LinkId link, double capacity) {
    INVARIANT(capacity >= 0 && capacity < unlimited);
    links_[index_of_link(link)].capacity = capacity;
    disturbed_.push_back(index_of_link(link));
}

void FairShare::set_cap(Slot slot, double cap) {
    Flow& flow = flows_[slot];
    INVARIANT(flow.present && cap >= 0);
    if (flow.cap == cap) return;
    const bool matters = cap < flow.rate || not_above(flow.cap, flow.rate);
    flow.cap = cap;
    if (matters && flow.round <= round_) recapped_.push_back(slot);  // else it is new anyway
}

void FairShare::set_strands(Slot slot, std::uint32_t strands) {
    Flow& flow = flows_[slot];
    INVARIANT(flow.present && strands > 0);
    flow.strands = strands;
    const std::uint32_t* const position = positions(slot);
    const std::span<const Hop> crossed = hops(flow.route);
    for (std::size_t i = 0; i < crossed.size(); ++i) {
        const std::uint32_t index = index_of_link(crossed[i].link);
        links_[index].members[position[i]].edges = crossed[i].edges * strands;
        disturbed_.push_back(index);
    }
}

std::span<const FairShare::Slot> FairShare::solve() {
    changed_.clear();
    if (settled()) return changed_;
    begin_round();
    review_all();
    for (Entry next; next_entry(next);) {
        level_ = next.level;
        switch (next.event) {
            case Event::link_full: fill(next.index); break;
            case Event::cap_reached: fix(next.index, level_); break;
            case Event::link_wakes: wake(next.index); break;
        }
        review_all();
    }
    agenda_.clear();
    for (const std::uint32_t index : entered_) {
        LinkState& link = links_[index];
        if (!link.full) link.level = unlimited;
    }
    return changed_;
}

// What changed, as seen from level zero.
void FairShare::begin_round() {
    ++round_;
    level_ = 0;
    heaped_count_ = 0;
    entered_.clear();
    for (const Slot slot : recapped_) {
        if (!flows_[slot].present || standing(flows_[slot]) != Standing::kept) continue;
        move(slot, Standing::open, 0);
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

// The next event that still counts, in the order of levels; false if none is left.
bool FairShare::next_entry(Entry& entry) {
    const auto later = [](const Entry& a, const Entry& b) {
        return std::tie(a.level, a.event, a.index) > std::tie(b.level, b.event, b.index);
    };
    const auto end_at = [&](std::size_t count) {
        return agenda_.begin() + static_cast<std::ptrdiff_t>(count);
    };
    if (heaped_count_ == 0) {
        std::make_heap(agenda_.begin(), agenda_.end(), later);
        heaped_count_ = agenda_.size();
    }
    while (queued_count_ > 0) {
        while (heaped_count_ < agenda_.size()) {
            std::push_heap(agenda_.begin(), end_at(++heaped_count_), later);
        }
        std::pop_heap(agenda_.begin(), agenda_.end(), later);
        entry = agenda_.back();
        agenda_.pop_back();
        heaped_count_ = agenda_.size();
        if (entry.event == Event::cap_reached) {
            --queued_count_;
            if (standing(flows_[entry.index]) == Standing::open) return true;
            continue;
        }
        LinkState& link = links_[entry.index];
        if (!link.queued || link.version != entry.version) continue;
        link.queued = false;
        --queued_count_;
        return true;
    }
    return false;
}

// A flow that shares no link needs no filling.
bool FairShare::settle_alone(Slot slot) {
    double rate = flows_[slot].cap;
    const std::uint32_t strands = flows_[slot].strands;
    const std::span<const Hop> crossed = hops(flows_[slot].route);
    for (const Hop& hop : crossed) {
        const LinkState& link = links_[index_of_link(hop.link)];
        if (link.members.size() != 1) return false;
        rate = std::min(rate, link.capacity / (hop.edges * strands));
    }
    for (const Hop& hop : crossed) {
        LinkState& link = links_[index_of_link(hop.link)];
        const double level = link.capacity / (hop.edges * strands);
        link.level = level <= rate ? level : unlimited;
        // Whatever else happened to the link, this is its level, and nobody looks again.
        link.round = round_;
        link.queued = link.to_review = false;
        link.full = true;
    }
    Flow& flow = flows_[slot];
    flow.standing = Standing::fixed;
    flow.round = round_;
    flow.rate = rate;
    changed_.push_back(slot);
    return true;
}

// The link takes part in this solve.
FairShare::LinkState& FairShare::enter(std::uint32_t index) {
    LinkState& link = links_[index];
    if (link.round == round_) return link;
    link.round = round_;
    link.queued = link.full = link.woken = link.to_review = false;
    link.fixed_sum = 0;
    link.open_edges = link.kept_edges = 0;
    link.kept.clear();
    entered_.push_back(index);
    bool ascending = true;
    for (const Member& member : link.members) {
        const Flow& flow = flows_[member.slot];
        switch (standing(flow)) {
            case Standing::open: link.open_edges += member.edges; break;
            case Standing::fixed: link.fixed_sum += member.edges * flow.rate; break;
            case Standing::kept:
                ascending = ascending && (link.kept.empty() || link.kept.back().rate <= flow.rate);
                link.kept_edges += member.edges;
                link.kept.push_back({flow.rate, member.slot, member.edges});
                break;
        }
    }
    visit_count_ += link.members.size();
    if (!ascending) {
        std::sort(link.kept.begin(), link.kept.end(), [](const Kept& a, const Kept& b) {
            return std::tie(a.rate, a.slot) < std::tie(b.rate, b.slot);
        });
    }
    return link;
}

void FairShare::review_later(std::uint32_t index) {
    LinkState& link = enter(index);
    if (link.to_review || link.full) return;
    link.to_review = true;
    to_review_.push_back(index);
}

void FairShare::review_all() {
    for (const std::uint32_t index : to_review_) {
        links_[index].to_review = false;
        review(index);
    }
    to_review_.clear();
}

void FairShare::queue(std::uint32_t index, double level, Event event) {
    LinkState& link = links_[index];
    link.queued = true;
    ++queued_count_;
    agenda_.push_back({std::max(level, level_), index, link.version, event});
}

void FairShare::queue_cap(Slot slot) {
    if (flows_[slot].cap == unlimited) return;
    ++queued_count_;
    agenda_.push_back({std::max(flows_[slot].cap, level_), slot, 0, Event::cap_reached});
}

// At which level is the link full, if flows with a standing of kept stop at their old rates?
void FairShare::review(std::uint32_t index) {
    LinkState& link = links_[index];
    if (link.full) return;
    if (link.queued) --queued_count_;
    link.queued = false;
    ++link.version;
    const auto is_kept = [&](const Kept& kept) {
        return standing(flows_[kept.slot]) == Standing::kept;
    };
    while (!link.kept.empty() && !is_kept(link.kept.back())) link.kept.pop_back();
    // Flows that it held before stop at its old level only if it is full there again.
    const bool holds = !link.woken && link.level < unlimited && !link.kept.empty() &&
                       not_above(link.level, link.kept.back().rate);
    double sum = link.fixed_sum;
    std::uint64_t rising = link.open_edges + link.kept_edges;
    double full_at = unlimited;
    for (const Kept& kept : link.kept) {
        ++visit_count_;
        if (!is_kept(kept)) continue;
        const double level = (link.capacity - sum) / static_cast<double>(rising);
        if (not_above(level, kept.rate)) {
            full_at = nearly_equal(level, kept.rate) ? kept.rate : level;
            break;
        }
        sum += kept.edges * kept.rate;
        rising -= kept.edges;
    }
    if (full_at == unlimited && rising > 0) {
        full_at = (link.capacity - sum) / static_cast<double>(rising);
        if (nearly_equal(full_at, link.level)) full_at = link.level;
    }
    if (holds && full_at > link.level) {
        queue(index, link.level, Event::link_wakes);
    } else if (full_at < unlimited) {
        queue(index, full_at, Event::link_full);
    }
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
        if (!held_elsewhere(member.slot, index)) move(member.slot, Standing::open, 0);
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

void FairShare::fix(Slot slot, double rate) {
    Flow& flow = flows_[slot];
    const double old = flow.rate;
    const double kept = nearly_equal(old, rate) && old > 0 ? old : rate;
    move(slot, Standing::fixed, kept);
    if (kept != old || old == 0) changed_.push_back(slot);
}

// Gives a flow another standing, and has the links that it crosses look again.
void FairShare::move(Slot slot, Standing to, double rate) {
    Flow& flow = flows_[slot];
    const Standing from = standing(flow);
    const std::span<const Hop> crossed = hops(flow.route);
    for (const Hop& hop : crossed) {
        LinkState& link = enter(index_of_link(hop.link));  // counts the flow as it was
        const std::uint32_t edges = hop.edges * flow.strands;
        if (from == Standing::open) {
            link.open_edges -= edges;
        } else {
            link.kept_edges -= edges;
        }
        if (to == Standing::open) {
            link.open_edges += edges;
        } else {
            link.fixed_sum += edges * rate;
        }
    }
    flow.round = round_;
    flow.standing = to;
    if (to == Standing::fixed) {
        flow.rate = rate;
    } else {
        queue_cap(slot);
    }
    visit_count_ += crossed.size();
    for (const Hop& hop : crossed) review_later(index_of_link(hop.link));
}

}  // namespace ukemi::sim
