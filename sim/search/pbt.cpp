// pbt.cpp — population based training: after each interval the worst take over weights and settings
// of some of the best, and change the settings a little.
//
// The population is compared when all have trained as far (the published one compares a member with
// the last scores of the others): so what is found does not depend on the scheduler.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>

#include "base/rng.hpp"
#include "sim/search/searcher.hpp"

namespace ukemi::sim {

namespace {

class PopulationTraining final : public Searcher {
public:
    explicit PopulationTraining(ConfigReader& parameters)
        : interval_(parameters.integer("interval", 1, 1'000'000, 1)),
          replaced_(parameters.number("replaced", 0, 0.5, 0.2)) {}
    std::string_view name() const override { return "pbt"; }
    std::string problem(const SearchTerms& terms) const override {
        if (interval_ <= terms.units) return {};
        return fmt::format(
            "\"interval\": expected at most the {} units of a full training, found {}", terms.units,
            interval_);
    }
    void begin(const SearchTerms& terms) override {
        terms_ = terms;
        units_ = 0;
        random_ = RandomStream(terms.seed, "search/pbt");
        there_.clear();
        ready_.clear();
        for (std::size_t i = 0; i < terms_.trials; ++i) there_.push_back({i, 0, 0});
        release();
    }
    std::size_t trials() const override { return terms_.trials; }
    std::size_t pieces_max() const override {
        const auto rounds = (terms_.units + interval_ - 1) / interval_;
        return terms_.trials * static_cast<std::size_t>(rounds);
    }
    std::optional<TrialPiece> next(bool) override {
        if (ready_.empty()) return std::nullopt;
        const TrialPiece piece = ready_.front();
        ready_.pop_front();
        return piece;
    }
    void reached(const TrialScore& score) override {
        there_.push_back(score);
        if (there_.size() == terms_.trials && units_ < terms_.units) release();
    }

private:
    // Truncation selection.
    void release() {
        const bool first = units_ == 0;
        units_ = std::min(units_ + interval_, terms_.units);
        sort_by_score(there_);
        const auto share = static_cast<std::size_t>(replaced_ * static_cast<double>(there_.size()));
        const std::size_t most = first ? 0 : share;
        for (std::size_t i = 0; i < there_.size(); ++i) {
            TrialPiece piece{there_[i].trial, units_};
            if (i + most >= there_.size()) {
                const std::int64_t chosen = random_.integer(0, static_cast<std::int64_t>(most) - 1);
                piece.copies = there_[static_cast<std::size_t>(chosen)].trial;
            }
            ready_.push_back(piece);
        }
        there_.clear();
    }

    std::int64_t interval_;
    double replaced_;
    SearchTerms terms_;
    std::int64_t units_ = 0;
    RandomStream random_{0, "search/pbt"};
    std::vector<TrialScore> there_;
    std::deque<TrialPiece> ready_;
};

}  // namespace

std::unique_ptr<Searcher> make_pbt(ConfigReader& parameters) {
    return std::make_unique<PopulationTraining>(parameters);
}

}  // namespace ukemi::sim
