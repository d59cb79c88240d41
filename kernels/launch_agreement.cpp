// launch_agreement.cpp — one cycle: words, then texts if there are unknown names.
#include "kernels/launch_agreement.hpp"

#include <algorithm>
#include <bit>

#include "base/invariant.hpp"

namespace ukemi::kernels {

namespace {

// Calls `use` for each line of a text that is filled up with zeroes.
template <class Use>
void each_line(std::string_view text, Use use) {
    text = text.substr(0, text.find('\0'));
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        INVARIANT(end != std::string_view::npos);
        use(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
}

}  // namespace

void LaunchAgreement::offer(const std::string& name) {
    INVARIANT(!name.empty() && name.find('\n') == std::string::npos &&
              name.find('\0') == std::string::npos);
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) {
        requests_ += name + '\n';
    } else {
        own_.ready[found->second / 64] |= std::uint64_t{1} << (found->second % 64);
    }
}

LaunchAgreement::Cycle LaunchAgreement::run_cycle() {
    Cycle cycle;
    const auto size = static_cast<std::size_t>(peers_.membership().size);
    own_.request_bytes = requests_.size();
    std::vector<Word> words(size);
    cycle.outcome = peers_.all_gather("launcher/ready", std::as_bytes(std::span(&own_, 1)),
                                      std::as_writable_bytes(std::span(words)));
    if (cycle.outcome != Outcome::ok) return cycle;
    std::uint64_t request_bytes = 0;
    for (const Word& word : words) request_bytes = std::max(request_bytes, word.request_bytes);
    for (std::size_t i = 0; i < own_.ready.size(); ++i) {
        std::uint64_t everywhere = own_.ready[i];
        for (const Word& word : words) everywhere &= word.ready[i];
        own_.ready[i] &= ~everywhere;
        for (; everywhere != 0; everywhere &= everywhere - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(everywhere));
            cycle.names.push_back(known_.at(i * 64 + bit));
        }
    }
    if (request_bytes > 0) cycle.outcome = agree_on_unknown(request_bytes, cycle.names);
    return cycle;
}

Outcome LaunchAgreement::agree_on_unknown(std::uint64_t bytes, std::vector<std::string>& names) {
    const Membership here = peers_.membership();
    requests_.resize(bytes);
    std::vector<char> requests(bytes * static_cast<std::size_t>(here.size));
    Outcome outcome = peers_.all_gather("launcher/requests", std::as_bytes(std::span(requests_)),
                                        std::as_writable_bytes(std::span(requests)));
    if (outcome != Outcome::ok) return outcome;
    requests_.clear();
    std::string decision;
    if (here.rank == 0) decide(requests, decision);
    std::uint64_t length = decision.size();
    outcome = peers_.broadcast("launcher/length", std::as_writable_bytes(std::span(&length, 1)), 0);
    if (outcome != Outcome::ok) return outcome;
    decision.resize(length);
    outcome = peers_.broadcast("launcher/decision", std::as_writable_bytes(std::span(decision)), 0);
    if (outcome == Outcome::ok) adopt(decision, names);
    return outcome;
}

void LaunchAgreement::decide(std::span<const char> requests, std::string& decision) {
    const auto size = static_cast<std::size_t>(peers_.membership().size);
    const std::size_t bytes = requests.size() / size;
    for (std::size_t rank = 0; rank < size; ++rank) {
        const auto own = requests.subspan(rank * bytes, bytes);
        each_line({own.data(), own.size()}, [&](std::string_view name) {
            auto found = std::ranges::find(pending_, name, &Request::name);
            if (found == pending_.end()) {
                found = pending_.insert(pending_.end(), Request{std::string(name), {}});
            }
            found->ranks.insert(rank);
        });
    }
    std::erase_if(pending_, [&](const Request& request) {
        const bool everywhere = request.ranks.size() == size;
        if (everywhere) decision += request.name + '\n';
        return everywhere;
    });
}

// Names get their numbers in the order of the decision, which is one for all ranks. When the cache
// is full, the others stay unknown.
void LaunchAgreement::adopt(const std::string& decision, std::vector<std::string>& names) {
    each_line(decision, [&](std::string_view name) {
        names.emplace_back(name);
        if (known_.size() == cache_size) return;
        numbers_.emplace(std::string(name), known_.size());
        known_.emplace_back(name);
    });
}

}  // namespace ukemi::kernels
