// recorded_solutions.hpp — what a solver of others answered, round by round, so that a scheduler's
// other rules can be compared with theirs exactly. Read when the scheduler is made.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config_reader.hpp"
#include "base/quantity.hpp"
#include "schedulers/scheduler.hpp"

namespace ukemi::schedulers {

class RecordedSolutions {
public:
    // The file that the key names, beside the scenario; empty where there is no such key. A line a
    // job and round. Either a table with the columns time_s, job and those that begin with `first`
    // (as many in a row as there are groups), or after each line "R time_s …" lines of a job's name
    // and numbers, of which the first counts. InputError for anything else.
    static RecordedSolutions in(ConfigReader& parameters, std::string_view key);

    bool empty() const { return rows_.empty(); }
    // The numbers of a job in the round that ends now; InputError if there are none.
    std::span<const double> at(Instant now, std::string_view job) const;

private:
    void read_table(std::string_view text);
    void read_rounds(std::string_view text);
    [[noreturn]] void fail(std::size_t line, std::string_view problem) const;

    std::string file_;
    std::map<std::pair<std::int64_t, std::string>, std::vector<double>> rows_;
};

}  // namespace ukemi::schedulers
