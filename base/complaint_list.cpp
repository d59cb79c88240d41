// complaint_list.cpp — which list is in use, and what it keeps.
#include "base/complaint_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/json_document.hpp"
#include "base/key_notes.hpp"

namespace ukemi {

namespace {

thread_local ComplaintList* innermost_list = nullptr;

std::string text_of(std::span<const std::string> complaints) {
    constexpr std::size_t lines_max = 10;
    std::string text;
    for (const std::string& one : complaints.first(std::min(complaints.size(), lines_max))) {
        text += fmt::format("{}{}", text.empty() ? "" : "\n", one);
    }
    if (complaints.size() > lines_max) {
        text += fmt::format("\nand {} more", complaints.size() - lines_max);
    }
    return text;
}

}  // namespace

InputErrors::InputErrors(const std::vector<std::string>& complaints)
    : InputError("", "", ""), text_(text_of(complaints)) {}

std::vector<std::string> lines_of(const InputError& error) {
    std::vector<std::string> lines;
    for (std::string_view left = error.what(); !left.empty();) {
        const std::size_t end = std::min(left.find('\n'), left.size());
        lines.emplace_back(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
    }
    return lines;
}

ComplaintList::ComplaintList(std::string_view file) : file_(file), around_(innermost_list) {
    innermost_list = this;
}

ComplaintList::~ComplaintList() { innermost_list = around_; }

ComplaintList* ComplaintList::of(std::string_view file) {
    return innermost_list != nullptr && innermost_list->file_ == file ? innermost_list : nullptr;
}

void ComplaintList::keep(const InputError& error, bool with_stand_in) {
    if (with_stand_in) ++stand_ins_;
    if (std::ranges::find(complaints_, error.what()) != complaints_.end()) return;
    complaints_.emplace_back(error.what());
}

bool ComplaintList::attempt(const std::function<void()>& part, bool of_all) {
    const std::size_t before = of_all ? 0 : stand_ins_;
    try {
        part();
        return true;
    } catch (const InputError& error) {
        if (stand_ins_ == before) keep(error, false);
        return false;
    }
}

void ComplaintList::throw_all() const {
    if (!complaints_.empty()) throw InputErrors(complaints_);
}

void complain(const ConfigReader& section, const InputError& error) {
    if (KeyExplorer::of(section.file()) != nullptr) return;
    ComplaintList* const list = ComplaintList::of(section.file());
    if (list == nullptr) throw error;
    list->keep(error, true);
}

void complain(const ConfigReader& section, std::string_view key, std::string_view problem) {
    std::string path = section.path();
    if (!key.empty()) path += '/' + pointer_token(key);
    complain(section, InputError(section.file(), path.empty() ? "/" : path, problem));
}

}  // namespace ukemi
