#include "scenarios/optimum/least_cost_dual.hpp"

#include <algorithm>
#include <cmath>

namespace ukemi::scenarios {

namespace {

struct Way {  // on from somewhere
    double cost = endless;
    double work = 0;
};

bool better(const Way& a, const Way& b) { return a.cost < b.cost; }

class DualPass {
public:
    DualPass(const LeastCostProblem& problem, double worth)
        : problem_(problem),
          worth_(worth),
          rests_(problem.rests.size()),
          places_(problem.places.size()) {}

    Dual run(bool keep) {
        const std::size_t count = problem_.nodes.size();
        Dual dual;
        dual.worth = worth_;
        if (keep) {
            dual.resting.resize(count * rests_);
            dual.working.resize(count * places_);
        }
        std::vector<Way> resting(rests_);  // nothing but waiting: never done
        std::vector<Way> working(places_, Way{0, 0});
        std::vector<Way> on(places_);
        for (std::size_t node = count; node-- > 0;) {
            if (node + 1 < count) step_back(node, resting, working, on);
            if (!keep) continue;
            for (std::size_t rest = 0; rest < rests_; ++rest) {
                dual.resting[node * rests_ + rest] = resting[rest].cost;
            }
            for (std::size_t place = 0; place < places_; ++place) {
                dual.working[node * places_ + place] = working[place].cost;
            }
        }
        dual.work = resting[0].work;
        dual.value = resting[0].cost + worth_ * problem_.work;
        return dual;
    }

private:
    void step_back(std::size_t node, std::vector<Way>& resting, std::vector<Way>& working,
                   std::vector<Way>& on) const {
        const auto length = static_cast<double>(problem_.nodes[node + 1] - problem_.nodes[node]);
        for (std::size_t place = 0; place < places_; ++place) {
            on[place] = Way{};
            if (!problem_.places[place].held[node]) continue;
            for (const WorkingPace& pace : problem_.places[place].paces[node]) {
                const double work = pace.rate * length;
                const double cost = static_cast<double>(pace.price) * length - worth_ * work;
                const Way way{cost + working[place].cost, work + working[place].work};
                if (better(way, on[place])) on[place] = way;
            }
        }
        for (std::size_t rest = 0; rest < rests_; ++rest) {
            resting[rest].cost += static_cast<double>(problem_.rests[rest].price[node]) * length;
            for (std::size_t place = 0; place < places_; ++place) {
                const Passage& in = problem_.enter[rest][place];
                const Place& there = problem_.places[place];
                if (!in.open || !there.entered_at[node]) continue;
                const double lost = there.entry_rate * static_cast<double>(in.lost);
                const double paid =
                    static_cast<double>(in.charge) + static_cast<double>(there.before_entry[node]);
                // The work may be done before the interval is over.
                const Way onward = better(on[place], Way{0, 0}) ? on[place] : Way{0, 0};
                const Way way{paid + worth_ * lost + onward.cost, onward.work - lost};
                if (better(way, resting[rest])) resting[rest] = way;
            }
        }
        for (std::size_t place = 0; place < places_; ++place) {
            Way best{0, 0};  // the work is done
            if (better(on[place], best)) best = on[place];
            for (std::size_t rest = 0; rest < rests_; ++rest) {
                const Passage& out = problem_.leave[place][rest];
                if (!out.open || !problem_.places[place].left_at[node]) continue;
                const double lost =
                    problem_.places[place].entry_rate * static_cast<double>(out.lost);
                const Way way{static_cast<double>(out.charge) + worth_ * lost + resting[rest].cost,
                              resting[rest].work - lost};
                if (better(way, best)) best = way;
            }
            working[place] = best;
        }
    }

    const LeastCostProblem& problem_;
    double worth_;
    std::size_t rests_;
    std::size_t places_;
};

}  // namespace

Dual dual_at(const LeastCostProblem& problem, double worth, bool keep) {
    return DualPass(problem, worth).run(keep);
}

// Between two worths whose ways do too little and enough, where the lines of the two cross.
std::optional<std::vector<double>> best_worths(const LeastCostProblem& problem, double& at_least) {
    double most = 1;
    for (const Place& place : problem.places) {
        for (const auto& paces : place.paces) {
            for (const WorkingPace& pace : paces) {
                if (pace.rate > 0) {
                    most = std::max(most, static_cast<double>(pace.price) / pace.rate);
                }
            }
        }
    }
    const auto at = [&](double worth) { return dual_at(problem, worth, false); };
    Dual enough = at(most * 1e6);
    if (!(enough.work >= problem.work * (1 - 1e-12))) return std::nullopt;
    Dual little = at(0);
    at_least = std::max(0.0, std::max(little.value, enough.value));
    std::vector<double> worths{0.0};
    for (int round = 0; round < 60; ++round) {
        // Where the two lines cross.
        const double slope = enough.work - little.work;
        if (!(slope > 0)) break;
        const double base_little = little.value - little.worth * (problem.work - little.work);
        const double base_enough = enough.value - enough.worth * (problem.work - enough.work);
        const double worth = (base_enough - base_little) / slope;
        if (!(worth > little.worth && worth < enough.worth)) break;
        const Dual between = at(worth);
        at_least = std::max(at_least, between.value);
        worths.push_back(worth);
        const double crossing = base_little + worth * (problem.work - little.work);
        if (between.value >= crossing - 1e-13 * std::abs(crossing)) break;
        (between.work >= problem.work ? enough : little) = between;
    }
    return worths;
}

}  // namespace ukemi::scenarios
