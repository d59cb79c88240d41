// launch_agreement.hpp — ranks agree which operations run next, in which order (Horovod's way).
//
// A cycle (RUNTIME §4.2): every rank tells all others, in one word of fixed size, which known
// names are ready here and whether it has unknown ones. If somebody has, the ranks send these as
// text, and rank 0 answers with what it decided: which names are ready everywhere, in the order in
// which it first heard of them, and as which number all shall know them (the response cache).
// What is known and ready everywhere follows from the words alone. Not Horovod's: unknown requests
// reach all ranks and not only rank 0, because a Communicator has no gather.
//
// Texts from peers are not distrusted: they share the secret of the epoch. A number out of range is
// a broken invariant.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kernels/communicator.hpp"

namespace ukemi::kernels {

class LaunchAgreement {
public:
    explicit LaunchAgreement(Communicator& peers) : peers_(peers) {}

    // `name` is ready here; until a cycle agrees on it.
    void offer(const std::string& name);

    struct Cycle {
        Outcome outcome = Outcome::ok;
        std::vector<std::string> names;  // what runs now, in this order, on every rank
    };
    // All ranks run as many cycles. A rank that comes late lets the others wait.
    Cycle run_cycle();

private:
    static constexpr std::size_t cache_size = 1024;  // names; Horovod's default

    // What a rank says at the start of a cycle.
    struct Word {
        std::array<std::uint64_t, cache_size / 64> ready{};  // by number
        std::uint64_t request_bytes = 0;                     // of its unknown names as text
    };

    Outcome agree_on_unknown(std::uint64_t bytes, std::vector<std::string>& names);
    void decide(std::span<const char> requests, std::string& decision);
    void adopt(const std::string& decision, std::vector<std::string>& names);

    Communicator& peers_;
    Word own_;
    std::string requests_;            // the unknown names not yet sent, a line each
    std::vector<std::string> known_;  // by number
    std::map<std::string, std::size_t> numbers_;

    // On rank 0: names that some ranks have asked for, in the order in which it heard of them.
    struct Request {
        std::string name;
        std::set<std::size_t> ranks;
    };
    std::vector<Request> pending_;
};

}  // namespace ukemi::kernels
