#include "scenarios/optimum/market_problem.hpp"

#include <algorithm>
#include <utility>

namespace ukemi::scenarios {

namespace {

constexpr RawCharge per_nano_dollar = 3'600'000'000'000;
constexpr double problem_most = 2e7;  // nodes × places × paces

}  // namespace

MarketProblem::MarketProblem(const sim::MarketData& market, const sim::JobSpec& job,
                             policies::JobProfile profile)
    : market_(market),
      job_(job),
      profile_(std::move(profile)),
      changes_(changes_of(job)),
      most_(scenarios::most_machines(job)),
      horizon_(std::min(job.deadline, job.give_up_at).raw()),
      spot_(market, most_, Instant::at(Duration::of(horizon_))) {
    if (most_ == 1) {
        state_one_machine();
    } else if (job_.workers_min == most_) {
        state_gang();
    } else {
        state_fleet();
    }
}

bool MarketProblem::is_exact() const {
    const sim::MarketRules& rules = market_.rules;
    const auto by_moment = [](const records::BillingRule& rule) {
        return rule.granularity <= whole_seconds(1) && rule.minimum <= minutes(1);
    };
    const bool plain = most_ == 1 && by_moment(rules.spot_billing) &&
                       by_moment(rules.on_demand_billing) && !spot_.prices_are_bounds() &&
                       spot_.free_before_loss() == 0 && rules.lifetime_max <= Duration{} &&
                       rules.blockout <= Duration{} && rules.launch_failure <= 0 && !rules.uneven();
    const bool fluid =
        policies::time_for(policies::rate_of(profile_, job_.plan, 1), 1) <= nanoseconds(1000);
    const bool one_after_the_other = market_.provisioning.raw() <= changes_.start + changes_.save;
    return plain && fluid && one_after_the_other && job_.tick <= Duration{} &&
           job_.profile.communication.empty() && job_.interference.empty();
}

void MarketProblem::cut_at(std::vector<std::int64_t> moments) {
    moments.push_back(0);
    moments.push_back(horizon_);
    std::erase_if(moments, [&](std::int64_t at) { return at < 0 || at > horizon_; });
    std::ranges::sort(moments);
    moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
    problem_.nodes = std::move(moments);
}

bool MarketProblem::fits(std::size_t places, std::size_t paces) {
    const double size = static_cast<double>(problem_.nodes.size()) * static_cast<double>(places) *
                        static_cast<double>(paces);
    too_large_ = size > problem_most;
    return !too_large_;
}

std::size_t MarketProblem::first_node(std::int64_t from) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(problem_.nodes, from) -
                                    problem_.nodes.begin());
}

Place MarketProblem::empty_place() const {
    Place place;
    place.paces.resize(intervals());
    place.held.assign(intervals(), false);
    place.entered_at.assign(problem_.nodes.size(), false);
    place.entered_within.assign(intervals(), false);
    place.left_at.assign(problem_.nodes.size(), true);
    place.before_entry.assign(problem_.nodes.size(), 0);
    return place;
}

// May be entered from one moment to another.
void MarketProblem::open(Place& place, std::int64_t from, std::int64_t until) const {
    for (std::size_t node = first_node(from); node < problem_.nodes.size(); ++node) {
        if (problem_.nodes[node] > until) break;
        place.entered_at[node] = true;
        if (node < intervals() && problem_.nodes[node + 1] <= until) {
            place.entered_within[node] = true;
        }
    }
}

void MarketProblem::hold(Place& place, std::int64_t from, std::int64_t until) const {
    for (std::size_t node = first_node(from); node < intervals(); ++node) {
        if (problem_.nodes[node + 1] > until) break;
        place.held[node] = true;
    }
}

void MarketProblem::connect() {
    problem_.enter.assign(problem_.rests.size(), std::vector<Passage>(problem_.places.size()));
    problem_.leave.assign(problem_.places.size(), std::vector<Passage>(problem_.rests.size()));
}

void MarketProblem::cut_for_one() {
    const std::int64_t first = market_.provisioning.raw();
    const std::int64_t free = spot_.free_before_loss();
    std::vector<std::int64_t> moments{first + changes_.spawn};
    for (std::uint32_t zone = 0; zone < spot_.zone_count(); ++zone) {
        for (const PriceStep& step : spot_.prices(zone)) {
            moments.push_back(step.at);
            moments.push_back(step.at + changes_.spawn);
        }
        for (const Stay& stay : spot_.stays(zone, 1)) {
            moments.push_back(stay.from + changes_.spawn);
            moments.push_back(std::min(stay.last_from, horizon_) + changes_.spawn);
            moments.push_back(stay.until);
            if (free > 0) moments.push_back(stay.until - free + changes_.spawn);
        }
    }
    cut_at(std::move(moments));
}

// One machine at a time. A change of place needs no more than the old one's save and the new
// one's restart: somebody who knows the moment asks for it early enough.
void MarketProblem::state_one_machine() {
    cut_for_one();
    const std::uint32_t kinds = spot_.free_before_loss() > 0 ? 3 : 2;  // of places in a zone
    if (!fits(std::size_t{kinds} * spot_.zone_count(), 1)) return;
    place_one_machine(kinds);
    connect_one_machine(kinds);
    const policies::StepRate rate = policies::rate_of(profile_, job_.plan, 1);
    const Int128 time = work_time(rate);
    problem_.work = static_cast<double>(time * 1000 * 1000 / fastest_machine(market_.rules));
    problem_.one_pace = !spot_.prices_are_bounds();
}

void MarketProblem::place_one_machine(std::uint32_t kinds) {
    for (std::uint32_t zone = 0; zone < spot_.zone_count(); ++zone) {
        problem_.places.push_back(spot_place(zone));
        problem_.places.push_back(on_demand_place(zone));
        if (kinds < 3) continue;
        problem_.places.push_back(free_place(zone, spot_.free_before_loss()));
    }
}

void MarketProblem::connect_one_machine(std::uint32_t kinds) {
    const std::uint32_t zones = spot_.zone_count();
    const bool moves = !market_.transfer.rows.empty();
    const std::uint32_t homes = moves ? zones : 1;
    problem_.rests.assign(1 + homes, free_rest());
    connect();
    for (std::uint32_t to = 0; to < kinds * zones; ++to) {
        problem_.enter[0][to] = {true, first_change(), 0};
        for (std::uint32_t home = 0; home < homes; ++home) {
            const sim::Move move =
                moves ? sim::move_between(market_, ZoneId{home}, ZoneId{to / kinds}) : sim::Move{};
            problem_.enter[1 + home][to] = {true, later_change() + move.time.raw(),
                                            RawCharge{move.cost.raw()} * per_nano_dollar};
        }
        problem_.leave[to][1 + (moves ? to / kinds : 0)] = {true,
                                                            saved_by_hand() ? 0 : changes_.save, 0};
    }
}

// An instance whose loss comes from its bid or its age may meet its successor in the same
// place, which then needs no save.
bool MarketProblem::saved_by_hand() const {
    return market_.rules.bidding || market_.rules.lifetime_max > Duration{};
}

std::int64_t MarketProblem::first_change() const {
    return saved_by_hand() ? changes_.survive : changes_.start;
}

std::int64_t MarketProblem::later_change() const {
    return saved_by_hand() ? changes_.survive : changes_.start + changes_.restore;
}

// Of the whole work by a group at the job's own speed, a microsecond less.
Int128 MarketProblem::work_time(const policies::StepRate& rate) const {
    const std::int64_t per_step = policies::samples_per_step(job_.plan, job_.workers_min);
    const std::int64_t steps = (job_.samples_total + per_step - 1) / per_step;
    return std::max<Int128>(policies::nanoseconds_for(rate, steps) - 1000, 1);
}

Place MarketProblem::spot_place(std::uint32_t zone) const {
    Place place = empty_place();
    const std::int32_t speed = market_.zones[zone].speed_per_mille;
    place.entry_rate = speed;
    for (std::size_t node = 0; node < intervals(); ++node) {
        const auto at = problem_.nodes[node];
        place.paces[node] = {
            {static_cast<double>(speed), spot_.price(zone, at, problem_.nodes[node + 1])}};
    }
    for (const Stay& stay : spot_.stays(zone, 1)) {
        open(place, stay.from + changes_.spawn,
             std::min(std::min(stay.last_from, horizon_) + changes_.spawn, stay.until));
        hold(place, stay.from + changes_.spawn, stay.until);
    }
    if (changes_.spawn == 0 || spot_.prices_are_bounds()) return place;
    for (std::size_t node = 0; node < problem_.nodes.size(); ++node) {
        const std::int64_t at = problem_.nodes[node];
        if (at < changes_.spawn) continue;
        place.before_entry[node] = spot_.charge(zone, at - changes_.spawn, at);
    }
    return place;
}

// The same for nothing, if it is taken soon enough. (The work may be done before, as if the job
// waited to be taken.)
Place MarketProblem::free_place(std::uint32_t zone, std::int64_t free) const {
    Place place = empty_place();
    const std::int32_t speed = market_.zones[zone].speed_per_mille;
    place.entry_rate = speed;
    for (auto& paces : place.paces) paces = {{static_cast<double>(speed), 0}};
    place.left_at.assign(problem_.nodes.size(), false);
    place.left_within = false;
    for (const Stay& stay : spot_.stays(zone, 1)) {
        if (stay.until >= horizon_) continue;
        const std::int64_t from = std::max(stay.from, stay.until - free) + changes_.spawn;
        open(place, from, std::min(stay.last_from + changes_.spawn, stay.until));
        hold(place, from, stay.until);
        place.left_at[first_node(stay.until)] = true;
    }
    return place;
}

Place MarketProblem::on_demand_place(std::uint32_t zone) const {
    Place place = empty_place();
    const sim::ZoneData& data = market_.zones[zone];
    const std::int64_t price = data.on_demand_price.raw();
    place.entry_rate = data.speed_per_mille;
    for (auto& paces : place.paces) {
        paces = {{static_cast<double>(data.speed_per_mille), price}};
    }
    const std::int64_t first = market_.provisioning.raw() + changes_.spawn;
    open(place, first, horizon_);
    hold(place, first, horizon_);
    for (RawCharge& before : place.before_entry) before = RawCharge{price} * changes_.spawn;
    return place;
}

}  // namespace ukemi::scenarios
