// halving.cpp — brackets in which the best of each rung go on: successive halving and Hyperband.
#include <algorithm>
#include <array>
#include <deque>
#include <memory>

#include "base/invariant.hpp"
#include "sim/search/searcher.hpp"

namespace ukemi::sim {

namespace {

constexpr std::int64_t eta_most = 1'000;

// One of several at once. Trials are numbered on from `first`.
class RunningBracket {
public:
    RunningBracket(HalvingBracket rungs, std::size_t first)
        : rungs_(std::move(rungs)), first_(first) {}
    bool has(std::size_t trial) const {
        return trial >= first_ && trial < first_ + rungs_.front().trials;
    }
    void begin(std::deque<TrialPiece>& ready) const {
        for (std::size_t i = 0; i < rungs_.front().trials; ++i) {
            ready.push_back({first_ + i, rungs_.front().units});
        }
    }
    // Once all of the rung are there, the best of them go on.
    void reached(const TrialScore& score, std::deque<TrialPiece>& ready) {
        there_.push_back(score);
        if (there_.size() < rungs_[rung_].trials || ++rung_ == rungs_.size()) return;
        sort_by_score(there_);
        there_.resize(rungs_[rung_].trials);
        for (const TrialScore& one : there_) ready.push_back({one.trial, rungs_[rung_].units});
        there_.clear();
    }

private:
    HalvingBracket rungs_;
    std::size_t first_;
    std::size_t rung_ = 0;
    std::vector<TrialScore> there_;
};

class Brackets : public Searcher {
public:
    void begin(const SearchTerms& terms) override {
        trials_ = pieces_ = 0;
        running_.clear();
        ready_.clear();
        for (HalvingBracket& rungs : brackets_for(terms)) {
            for (const HalvingRung& rung : rungs) pieces_ += rung.trials;
            const std::size_t first = trials_;
            trials_ += rungs.front().trials;
            running_.emplace_back(std::move(rungs), first).begin(ready_);
        }
    }
    std::size_t trials() const override { return trials_; }
    std::size_t pieces_max() const override { return pieces_; }
    std::optional<TrialPiece> next(bool) override {
        if (ready_.empty()) return std::nullopt;
        const TrialPiece piece = ready_.front();
        ready_.pop_front();
        return piece;
    }
    void reached(const TrialScore& score) override {
        const auto own = std::ranges::find_if(
            running_, [&](const RunningBracket& one) { return one.has(score.trial); });
        INVARIANT(own != running_.end());
        own->reached(score, ready_);
    }

private:
    virtual std::vector<HalvingBracket> brackets_for(const SearchTerms& terms) const = 0;

    std::vector<RunningBracket> running_;
    std::deque<TrialPiece> ready_;
    std::size_t trials_ = 0;
    std::size_t pieces_ = 0;
};

class SuccessiveHalving final : public Brackets {
public:
    explicit SuccessiveHalving(ConfigReader& parameters)
        : eta_(parameters.integer("eta", 2, eta_most, 3)) {}
    std::string_view name() const override { return "successive_halving"; }

private:
    std::vector<HalvingBracket> brackets_for(const SearchTerms& terms) const override {
        const auto trials = static_cast<std::int64_t>(terms.trials);
        const std::int64_t steps =
            std::min(halvings_in(terms.units, eta_), halvings_in(trials, eta_));
        return {halving_bracket(terms.trials, terms.units, eta_, steps)};
    }
    std::int64_t eta_;
};

class Hyperband final : public Brackets {
public:
    explicit Hyperband(ConfigReader& parameters) : eta_(parameters.integer("eta", 2, eta_most, 3)) {
        static constexpr std::array<std::string_view, 2> kinds{"algorithm", "table"};
        whole_ = parameters.one_of("brackets", kinds, "algorithm") == "table";
    }
    std::string_view name() const override { return "hyperband"; }

private:
    std::vector<HalvingBracket> brackets_for(const SearchTerms& terms) const override {
        return hyperband_brackets(terms.units, eta_, whole_);
    }
    std::int64_t eta_;
    bool whole_ = false;
};

std::int64_t power(std::int64_t base, std::int64_t exponent) {
    std::int64_t result = 1;
    for (std::int64_t i = 0; i < exponent; ++i) result *= base;
    return result;
}

}  // namespace

std::int64_t halvings_in(std::int64_t units, std::int64_t eta) {
    std::int64_t steps = 0;
    for (; units >= eta; units /= eta) ++steps;
    return steps;
}

HalvingBracket halving_bracket(std::size_t trials, std::int64_t units, std::int64_t eta,
                               std::int64_t steps) {
    HalvingBracket rungs;
    for (std::int64_t i = 0; i <= steps; ++i) {
        const std::size_t left =
            std::max<std::size_t>(1, trials / static_cast<std::size_t>(power(eta, i)));
        rungs.push_back({left, std::max<std::int64_t>(1, units / power(eta, steps - i))});
    }
    return rungs;
}

std::vector<HalvingBracket> hyperband_brackets(std::int64_t units, std::int64_t eta,
                                               bool whole_shares) {
    const std::int64_t most = halvings_in(units, eta);
    std::vector<HalvingBracket> brackets;
    for (std::int64_t s = most; s >= 0; --s) {
        const std::int64_t parts = most + 1;
        const std::int64_t trials =
            whole_shares ? parts / (s + 1) * power(eta, s) : (parts * power(eta, s) + s) / (s + 1);
        brackets.push_back(halving_bracket(static_cast<std::size_t>(trials), units, eta, s));
    }
    return brackets;
}

std::unique_ptr<Searcher> make_successive_halving(ConfigReader& parameters) {
    return std::make_unique<SuccessiveHalving>(parameters);
}

std::unique_ptr<Searcher> make_hyperband(ConfigReader& parameters) {
    return std::make_unique<Hyperband>(parameters);
}

}  // namespace ukemi::sim
