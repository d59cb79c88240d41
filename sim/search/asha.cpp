// asha.cpp — asynchronous successive halving: a trial goes on as soon as it is among the best
// 1/eta of those that have come as far.
#include <algorithm>
#include <memory>
#include <set>

#include "sim/search/searcher.hpp"

namespace ukemi::sim {

namespace {

class Asha final : public Searcher {
public:
    explicit Asha(ConfigReader& parameters) : eta_(parameters.integer("eta", 2, 1'000, 3)) {}
    std::string_view name() const override { return "asha"; }
    void begin(const SearchTerms& terms) override {
        terms_ = terms;
        begun_ = 0;
        units_.clear();
        // As many rungs as successive halving would have: so the last is reached.
        const auto trials = static_cast<std::int64_t>(terms.trials);
        const std::int64_t steps =
            std::min(halvings_in(terms.units, eta_), halvings_in(trials, eta_));
        for (const HalvingRung& rung : halving_bracket(terms.trials, terms.units, eta_, steps)) {
            units_.push_back(rung.units);
        }
        rungs_.assign(units_.size(), {});
    }
    std::size_t trials() const override { return terms_.trials; }
    std::size_t pieces_max() const override { return terms_.trials * units_.size(); }

    // The highest rung first; a new trial where nobody may go on.
    std::optional<TrialPiece> next(bool free) override {
        if (!free) return std::nullopt;
        for (std::size_t rung = rungs_.size() - 1; rung-- > 0;) {
            if (const auto trial = who_goes_on(rungs_[rung])) {
                return TrialPiece{*trial, units_[rung + 1]};
            }
        }
        if (begun_ < terms_.trials) return TrialPiece{begun_++, units_.front()};
        return std::nullopt;
    }
    void reached(const TrialScore& score) override {
        const auto rung = std::ranges::find(units_, score.units) - units_.begin();
        rungs_[static_cast<std::size_t>(rung)].there.push_back(score);
    }

private:
    struct Rung {
        std::vector<TrialScore> there;
        std::set<std::size_t> gone_on;
    };
    std::optional<std::size_t> who_goes_on(Rung& rung) const {
        sort_by_score(rung.there);
        const std::size_t best = rung.there.size() / static_cast<std::size_t>(eta_);
        for (std::size_t i = 0; i < best; ++i) {
            if (rung.gone_on.insert(rung.there[i].trial).second) return rung.there[i].trial;
        }
        return std::nullopt;
    }

    std::int64_t eta_;
    SearchTerms terms_;
    std::size_t begun_ = 0;
    std::vector<std::int64_t> units_;  // by rung
    std::vector<Rung> rungs_;
};

}  // namespace

std::unique_ptr<Searcher> make_asha(ConfigReader& parameters) {
    return std::make_unique<Asha>(parameters);
}

}  // namespace ukemi::sim
