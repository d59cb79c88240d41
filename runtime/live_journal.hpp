// live_journal.hpp — where a live run with agents writes down what happens, and what the
// coordinator before this one has written.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "runtime/live_run.hpp"
#include "runtime/run_journal.hpp"

namespace ukemi::runtime {

struct Journaled {
    std::optional<RunPast> past;
    std::optional<RunJournal> journal;
};

// Begins the journal of this term, and finds the past that is to be lived through first; it says
// from where and with what the run began, and which hard stops hold if none are given now. Nothing
// for a run without agents. InputError for the past of another run than `what_it_is` says.
std::unique_ptr<Journaled> begin_journal(const LiveOptions& options, const std::string& what_it_is,
                                         LiveSetup& live, std::optional<ProviderSetup>& provider);

}  // namespace ukemi::runtime
