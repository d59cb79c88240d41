// invariant.hpp — a broken assumption stops the program, in every build.
//
// INVARIANT is for our own mistakes. Bad input is InputError; a lost peer is a return value.
// (Not called CHECK: Catch2 owns that name.) A run announces its replay command with
// ReplayNote, so that an abort names the scenario and the seed that led to it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <source_location>
#include <string>
#include <utility>

namespace ukemi {

// While it lives, a broken invariant on this thread prints `note` (usually a replay command).
class ReplayNote {
public:
    explicit ReplayNote(std::string note) : previous_(std::exchange(current(), this)) {
        note_ = std::move(note);
    }
    ~ReplayNote() { current() = previous_; }
    ReplayNote(const ReplayNote&) = delete;
    ReplayNote& operator=(const ReplayNote&) = delete;

    static const char* text() { return current() == nullptr ? nullptr : current()->note_.c_str(); }

private:
    static ReplayNote*& current() {
        thread_local ReplayNote* innermost = nullptr;
        return innermost;
    }
    ReplayNote* previous_;
    std::string note_;
};

[[noreturn]] inline void invariant_failed(
    const char* condition, std::source_location where = std::source_location::current()) {
    std::fprintf(stderr, "%s:%u: invariant broken: %s\n  in %s\n", where.file_name(), where.line(),
                 condition, where.function_name());
    if (ReplayNote::text() != nullptr) std::fprintf(stderr, "  replay: %s\n", ReplayNote::text());
    std::abort();
}

}  // namespace ukemi

#define INVARIANT(condition) \
    (static_cast<bool>(condition) ? void(0) : ::ukemi::invariant_failed(#condition))
