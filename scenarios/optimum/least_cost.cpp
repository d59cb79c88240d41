#include "scenarios/optimum/least_cost.hpp"

#include <algorithm>
#include <cmath>

#include "scenarios/optimum/least_cost_dual.hpp"

namespace ukemi::scenarios {

namespace {

struct Point {
    Int128 work = 0;
    RawCharge charge = 0;
};

// From `low` to `high`; a point if they are one.
struct Label {
    Point low;
    Point high;
    double at_least = 0;
    bool moved() const { return high.work != low.work; }
};

Label point(Point at) { return {at, at, 0}; }

// No schedule that goes on from `two` needs it where there is `one`: as much work for no more.
bool covers(const Label& one, const Point& two) {
    if (two.work > one.high.work) return false;
    if (two.work <= one.low.work) return one.low.charge <= two.charge;
    const Int128 rise = one.high.charge - one.low.charge;
    const Int128 run = one.high.work - one.low.work;
    const auto share =
        static_cast<long double>(two.work - one.low.work) / static_cast<long double>(run);
    return static_cast<long double>(one.low.charge) + static_cast<long double>(rise) * share <=
           static_cast<long double>(two.charge);
}
bool covers(const Label& one, const Label& two) {
    return covers(one, two.low) && covers(one, two.high);
}

class LabelPass {
public:
    LabelPass(const LeastCostProblem& problem, const std::vector<Dual>& duals, std::size_t most,
              std::optional<RawCharge> found)
        : problem_(problem),
          duals_(duals),
          most_(most),
          found_(found),
          work_(static_cast<Int128>(problem.work)),
          resting_(problem.rests.size()),
          working_(problem.places.size()),
          next_resting_(resting_.size()),
          next_working_(working_.size()) {}

    void run() {
        resting_[0].push_back(point({}));
        bound(0, 0, true, resting_[0]);
        for (std::size_t node = 0; node < problem_.nodes.size(); ++node) {
            change_at(node);
            if (node + 1 < problem_.nodes.size()) go_on_from(node);
        }
    }

    std::optional<RawCharge> found() const { return found_; }
    double dropped_at_least() const { return dropped_; }

private:
    Int128 rate(std::size_t place, std::size_t node) const {
        return static_cast<Int128>(problem_.places[place].paces[node].front().rate);
    }
    Int128 entry_rate(std::size_t place) const {
        return static_cast<Int128>(problem_.places[place].entry_rate);
    }
    Int128 price(std::size_t place, std::size_t node) const {
        return problem_.places[place].paces[node].front().price;
    }

    double from_here(const Dual& dual, std::size_t node, std::size_t which, bool rest,
                     const Point& at) const {
        const double on = rest ? dual.resting[node * resting_.size() + which]
                               : dual.working[node * working_.size() + which];
        return static_cast<double>(at.charge) + on +
               dual.worth * static_cast<double>(work_ - at.work);
    }

    void found_one(RawCharge charge) {
        if (!found_ || charge < *found_) found_ = charge;
    }
    bool hopeless(double at_least) const {
        if (at_least == endless) return true;
        if (!found_) return false;
        const auto best = static_cast<double>(*found_);
        return at_least >= best - 1e-12 * best;
    }

    // Bounds, prunes and thins out what is in one place or rest at one node.
    void bound(std::size_t node, std::size_t which, bool rest, std::vector<Label>& labels) {
        for (Label& label : labels) {
            label.at_least = 0;
            for (const Dual& dual : duals_) {
                const double low = from_here(dual, node, which, rest, label.low);
                const double high =
                    label.moved() ? from_here(dual, node, which, rest, label.high) : low;
                label.at_least = std::max(label.at_least, std::min(low, high));
            }
        }
        std::erase_if(labels, [&](const Label& one) { return hopeless(one.at_least); });
        remove_covered(labels);
        if (labels.size() <= most_) return;
        const auto end = labels.begin() + static_cast<std::ptrdiff_t>(most_);
        std::ranges::nth_element(labels, end, {}, &Label::at_least);
        for (auto one = end; one != labels.end(); ++one) {
            dropped_ = std::min(dropped_, one->at_least);
        }
        labels.erase(end, labels.end());
    }

    static void remove_covered(std::vector<Label>& labels) {
        // The most work first; of points, only those that cost less than any with more work stay.
        std::ranges::sort(labels, [](const Label& a, const Label& b) {
            if (a.high.work != b.high.work) return a.high.work > b.high.work;
            if (a.moved() != b.moved()) return b.moved();
            return a.low.charge < b.low.charge;
        });
        std::vector<Label> kept;
        std::optional<RawCharge> least;  // of the points so far
        for (const Label& one : labels) {
            if (!one.moved()) {
                if (least && *least <= one.low.charge) continue;
                least = one.low.charge;
            } else {
                if (least && *least <= one.low.charge) continue;
                const std::size_t looked_at = std::min<std::size_t>(kept.size(), 64);
                const bool covered =
                    std::any_of(kept.end() - static_cast<std::ptrdiff_t>(looked_at), kept.end(),
                                [&](const Label& other) { return covers(other, one); });
                if (covered) continue;
            }
            kept.push_back(one);
        }
        labels = std::move(kept);
    }

    static Label moved_by(const Label& label, Int128 work, RawCharge charge) {
        return {{label.low.work + work, label.low.charge + charge},
                {label.high.work + work, label.high.charge + charge},
                0};
    }

    // Who has all of the work is done; a segment is cut where it has.
    void finish(std::vector<Label>& labels) {
        for (Label& label : labels) {
            if (label.high.work < work_) continue;
            if (label.low.work >= work_) {
                if (label.low.work == work_) found_one(label.low.charge);
                label.high = label.low;
                continue;
            }
            const Int128 run = label.high.work - label.low.work;
            const Int128 part = work_ - label.low.work;
            const auto rise = static_cast<long double>(label.high.charge - label.low.charge);
            const auto more =
                rise * (static_cast<long double>(part) / static_cast<long double>(run));
            label.high = {work_, label.low.charge + static_cast<RawCharge>(std::ceil(more))};
            found_one(label.high.charge);
        }
        std::erase_if(labels, [&](const Label& one) { return one.low.work >= work_; });
    }

    void change_at(std::size_t node) {
        for (std::size_t place = 0; place < working_.size(); ++place) {
            if (!problem_.places[place].left_at[node]) continue;
            for (std::size_t rest = 0; rest < resting_.size(); ++rest) {
                const Passage& out = problem_.leave[place][rest];
                if (!out.open) continue;
                const Int128 lost = entry_rate(place) * out.lost;
                for (const Label& one : working_[place]) {
                    resting_[rest].push_back(moved_by(one, -lost, out.charge));
                }
            }
        }
        for (std::size_t rest = 0; rest < resting_.size(); ++rest) {
            bound(node, rest, true, resting_[rest]);
        }
        if (node + 1 == problem_.nodes.size()) return;
        for (std::size_t place = 0; place < working_.size(); ++place) {
            const Place& there = problem_.places[place];
            if (!there.entered_at[node] || !there.held[node]) continue;
            for (std::size_t rest = 0; rest < resting_.size(); ++rest) {
                const Passage& in = problem_.enter[rest][place];
                if (!in.open) continue;
                const Int128 lost = entry_rate(place) * in.lost;
                for (const Label& one : resting_[rest]) {
                    working_[place].push_back(
                        moved_by(one, -lost, in.charge + there.before_entry[node]));
                }
            }
            bound(node, place, false, working_[place]);
        }
    }

    void go_on_from(std::size_t node) {
        const Int128 time = problem_.nodes[node + 1] - problem_.nodes[node];
        for (auto& labels : next_resting_) labels.clear();
        for (auto& labels : next_working_) labels.clear();
        for (std::size_t rest = 0; rest < resting_.size(); ++rest) {
            const RawCharge waiting = problem_.rests[rest].price[node] * time;
            for (const Label& one : resting_[rest]) {
                next_resting_[rest].push_back(moved_by(one, 0, waiting));
            }
        }
        for (std::size_t place = 0; place < working_.size(); ++place) {
            if (!problem_.places[place].held[node]) continue;
            work_on(place, node, time);
            enter_within(place, node, time);
        }
        std::swap(resting_, next_resting_);
        std::swap(working_, next_working_);
        for (std::size_t place = 0; place < working_.size(); ++place) {
            finish(working_[place]);
            bound(node + 1, place, false, working_[place]);
        }
    }

    void work_on(std::size_t place, std::size_t node, Int128 time) {
        const Int128 work = rate(place, node) * time;
        const RawCharge charge = price(place, node) * time;
        for (const Label& one : working_[place]) {
            finish_within(one.low, place, node, work);
            if (one.moved()) finish_within(one.high, place, node, work);
            next_working_[place].push_back(moved_by(one, work, charge));
            if (one.moved() || !problem_.places[place].left_within) continue;
            for (std::size_t rest = 0; rest < resting_.size(); ++rest) {  // or leave on the way
                const Passage& out = problem_.leave[place][rest];
                if (!out.open || problem_.rests[rest].price[node] != 0) continue;
                const Int128 lost = entry_rate(place) * out.lost;
                const Label left = moved_by(one, -lost, out.charge);
                next_resting_[rest].push_back(
                    {left.low, {left.low.work + work, left.low.charge + charge}, 0});
            }
        }
    }

    void finish_within(const Point& at, std::size_t place, std::size_t node, Int128 work) {
        if (at.work + work < work_ || at.work >= work_) return;
        const Int128 pace = rate(place, node);
        const Int128 needed = (work_ - at.work + pace - 1) / pace;
        found_one(at.charge + price(place, node) * needed);
    }

    void enter_within(std::size_t place, std::size_t node, Int128 time) {
        const Place& there = problem_.places[place];
        if (!there.entered_within[node]) return;
        const Int128 work = rate(place, node) * time;
        const RawCharge charge = price(place, node) * time;
        for (std::size_t rest = 0; rest < resting_.size(); ++rest) {
            const Passage& in = problem_.enter[rest][place];
            if (!in.open || problem_.rests[rest].price[node] != 0) continue;
            const Int128 lost = entry_rate(place) * in.lost;
            for (const Label& one : resting_[rest]) {
                if (one.moved()) continue;
                const Point late{one.low.work - lost,
                                 one.low.charge + in.charge + there.before_entry[node + 1]};
                const Point early{one.low.work - lost + work,
                                  one.low.charge + in.charge + there.before_entry[node] + charge};
                next_working_[place].push_back({late, early, 0});
            }
        }
    }

    const LeastCostProblem& problem_;
    const std::vector<Dual>& duals_;
    std::size_t most_;
    std::optional<RawCharge> found_;
    Int128 work_;
    double dropped_ = endless;  // the least bound of what was thinned out
    std::vector<std::vector<Label>> resting_;
    std::vector<std::vector<Label>> working_;
    std::vector<std::vector<Label>> next_resting_;
    std::vector<std::vector<Label>> next_working_;
};

RawCharge below(double charge) {
    return static_cast<RawCharge>(std::max(0.0, charge - 1e-9 * std::abs(charge)));
}

}  // namespace

std::optional<LeastCost> least_cost(const LeastCostProblem& problem) {
    double dual_value = 0;
    const auto worths = best_worths(problem, dual_value);
    if (!worths) return std::nullopt;
    LeastCost result;
    result.at_least = below(dual_value);
    if (!problem.one_pace) return result;
    // The bounds of labels: the best worth of work, and some around it.
    std::vector<double> kept(worths->end() - std::min<std::ptrdiff_t>(std::ssize(*worths), 6),
                             worths->end());
    const double best = worths->back();
    for (const double factor : {0.0, 0.5, 0.9, 0.97, 1.03, 1.1, 2.0, 10.0}) {
        kept.push_back(best * factor);
    }
    std::vector<Dual> duals;
    for (const double worth : kept) duals.push_back(dual_at(problem, worth, true));
    for (std::size_t most = 8; most <= problem.labels_max; most *= 8) {
        LabelPass pass(problem, duals, most, result.found);
        pass.run();
        result.found = pass.found();
        if (!result.found) continue;
        const double proved = pass.dropped_at_least();
        if (proved == endless) {
            result.at_least = *result.found;
            break;
        }
        result.at_least = std::min(std::max(result.at_least, below(proved)), *result.found);
        if (result.at_least == *result.found) break;
        const auto gap = static_cast<double>(*result.found - result.at_least);
        if (gap <= 2e-9 * static_cast<double>(*result.found)) break;  // as much as is left off
    }
    return result;
}

}  // namespace ukemi::scenarios
