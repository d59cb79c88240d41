// complaint_list.hpp — all mistakes of a document at once, instead of the first.
//
// A ConfigReader throws the first value that it cannot use. While a ComplaintList of its document
// lives, in this thread, it keeps the complaint and goes on with some value that could stand there.
// What several values say together is still thrown by whoever reads them; `attempt` keeps that,
// too, unless it may come from such a stand-in.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config_reader.hpp"

namespace ukemi {

// What is thrown in the end: what() has a line for each of the first ten complaints, and says how
// many more there are.
class InputErrors : public InputError {
public:
    explicit InputErrors(const std::vector<std::string>& complaints);
    const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

// The lines of what().
std::vector<std::string> lines_of(const InputError& error);

class ComplaintList {
public:
    explicit ComplaintList(std::string_view file);
    ~ComplaintList();
    ComplaintList(const ComplaintList&) = delete;
    ComplaintList& operator=(const ComplaintList&) = delete;

    // Runs a part of the reading. False if it came to no end. What it threw is kept unless a value
    // stands in for another, in this part or (`of_all`) in any.
    bool attempt(const std::function<void()>& part, bool of_all = false);
    void throw_all() const;

    // Null: the first complaint about this document is to be thrown.
    static ComplaintList* of(std::string_view file);
    void keep(const InputError& error, bool with_stand_in);

private:
    std::string file_;
    std::vector<std::string> complaints_;
    std::size_t stand_ins_ = 0;
    ComplaintList* around_;
};

// Throws the error, or keeps it and returns: the caller goes on with a stand-in.
void complain(const ConfigReader& section, const InputError& error);
// Of a key; empty: of the section itself.
void complain(const ConfigReader& section, std::string_view key, std::string_view problem);

}  // namespace ukemi
