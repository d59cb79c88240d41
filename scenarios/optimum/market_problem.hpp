// market_problem.hpp — a job on a market as a problem of least cost.
//
// Nodes are where a price or what can be held changes. One machine has a place a zone and market,
// and what a change of place takes is exact. A gang of several trains with so many spot machines
// and the rest on demand; a fleet that grows and shrinks is at each moment as large as is cheapest.
// What is granted to the last two is in optimum.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/optimum/held_capacity.hpp"
#include "scenarios/optimum/job_terms.hpp"
#include "scenarios/optimum/least_cost.hpp"

namespace ukemi::scenarios {

class MarketProblem {
public:
    // `profile` is the job's fastest. Market and job outlive it.
    MarketProblem(const sim::MarketData& market, const sim::JobSpec& job,
                  policies::JobProfile profile);

    std::int32_t most_machines() const { return most_; }
    bool too_large() const { return too_large_; }  // then there is nothing to solve
    // Nothing was granted that no policy could have, but for bills that are not rounded up.
    bool is_exact() const;
    const LeastCostProblem& stated() const { return problem_; }

private:
    void state_one_machine();
    void place_one_machine(std::uint32_t kinds);
    void connect_one_machine(std::uint32_t kinds);
    void state_gang();
    void connect_gang();
    void state_fleet();

    // Of places in a zone.
    Place empty_place() const;
    Place spot_place(std::uint32_t zone) const;
    Place free_place(std::uint32_t zone, std::int64_t free) const;
    Place on_demand_place(std::uint32_t zone) const;
    void open(Place& place, std::int64_t from, std::int64_t until) const;
    void hold(Place& place, std::int64_t from, std::int64_t until) const;
    void open_all(Place& place) const;
    Rest free_rest() const { return {std::vector<std::int64_t>(intervals(), 0)}; }
    void connect();

    void cut_at(std::vector<std::int64_t> moments);
    void cut_for_one();
    void cut_for_many();
    std::size_t intervals() const { return problem_.nodes.size() - 1; }
    std::size_t first_node(std::int64_t from) const;
    bool fits(std::size_t places, std::size_t paces);

    bool saved_by_hand() const;
    std::int64_t first_change() const;
    std::int64_t later_change() const;
    Int128 work_time(const policies::StepRate& rate) const;
    double speed_most() const;

    // Prices of single machines in an interval: spot ones that can be held, cheapest first.
    struct Slots {
        std::vector<std::int64_t> spot;
        std::int64_t on_demand = 0;
    };
    std::vector<Slots> all_slots() const;
    std::vector<std::int32_t> held_in(std::uint32_t zone) const;
    static std::int64_t price_of(const Slots& slots, std::int32_t count, std::int32_t spot_most);

    const sim::MarketData& market_;
    const sim::JobSpec& job_;
    policies::JobProfile profile_;
    Changes changes_;
    std::int32_t most_;
    std::int64_t horizon_;
    HeldCapacity spot_;
    std::vector<Slots> slots_;  // by interval, for several machines
    LeastCostProblem problem_;
    bool too_large_ = false;
};

}  // namespace ukemi::scenarios
