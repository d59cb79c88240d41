// full_training.cpp — every trial is trained to its end: grid and random search.
#include <memory>

#include "sim/search/searcher.hpp"

namespace ukemi::sim {

namespace {

class FullTraining final : public Searcher {
public:
    explicit FullTraining(std::string_view name) : name_(name) {}
    std::string_view name() const override { return name_; }
    void begin(const SearchTerms& terms) override {
        terms_ = terms;
        next_ = 0;
    }
    std::size_t trials() const override { return terms_.trials; }
    std::size_t pieces_max() const override { return terms_.trials; }
    std::optional<TrialPiece> next(bool) override {
        if (next_ == terms_.trials) return std::nullopt;
        return TrialPiece{next_++, terms_.units};
    }
    void reached(const TrialScore&) override {}

private:
    std::string_view name_;
    SearchTerms terms_;
    std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Searcher> make_grid(ConfigReader&) {
    return std::make_unique<FullTraining>("grid");
}

std::unique_ptr<Searcher> make_random(ConfigReader&) {
    return std::make_unique<FullTraining>("random");
}

}  // namespace ukemi::sim
