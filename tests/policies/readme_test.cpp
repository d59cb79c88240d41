// readme_test.cpp — policies/README.md says what is registered: a row and a paragraph each.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/read_file.hpp"
#include "policies/registry.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

std::string readme() {
    return read_file(std::filesystem::path(UKEMI_SOURCE_DIR) / "policies" / "README.md");
}

template <class Set, class Member>
std::string names_in(Set set, std::span<const std::string_view> names) {
    std::string list;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (!set.has(static_cast<Member>(index))) continue;
        if (!list.empty()) list += ", ";
        list += names[index];
    }
    return list;
}

}  // namespace

TEST_CASE("policies readme: has a row with the knobs and hooks of every policy, and a paragraph",
          "[readme]") {
    const std::string text = readme();
    for (const PolicyEntry& entry : all_policies()) {
        ConfigReader none = ConfigReader::from_text("{}", "test.json");
        const auto policy = make_policy(entry, none);
        const std::string row = fmt::format("\n| `{}` | {} | {} | ", entry.name,
                                            names_in<KnobSet, Knob>(policy->knobs(), knob_names()),
                                            names_in<HookSet, Hook>(policy->hooks(), hook_names()));
        CHECK_THAT(text, Catch::Contains(row));
        CHECK_THAT(text, Catch::Contains(fmt::format("**`{}`**", entry.name)));
        if (entry.alias.empty()) continue;
        CHECK_THAT(text, Catch::Contains(fmt::format("**`{}`** (`{}`)", entry.name, entry.alias)));
    }
}

TEST_CASE("policies: each has a test from hand-made Observations, without a world", "[registry]") {
    // A file of this folder that makes the policy and shows it a Situation; those that ask every
    // policy the same do not count.
    const std::filesystem::path tests =
        std::filesystem::path(UKEMI_SOURCE_DIR) / "tests" / "policies";
    std::string text;
    for (const auto& file : std::filesystem::directory_iterator(tests)) {
        const std::string name = file.path().filename().string();
        const bool of_all = name.starts_with("hostile_") || name.starts_with("registry_") ||
                            name.starts_with("training_loop_");
        if (of_all || file.path().extension() != ".cpp") continue;
        const std::string one = read_file(file.path());
        CAPTURE(name);
        CHECK(one.find("#include \"sim/") == std::string::npos);
        if (one.find("situation.hpp\"") != std::string::npos) text += one;
    }
    for (const PolicyEntry& entry : all_policies()) {
        CAPTURE(entry.name);
        const auto made = [&](std::string_view name) {
            return !name.empty() &&
                   text.find(fmt::format("policy_named(\"{}\"", name)) != std::string::npos;
        };
        CHECK((made(entry.name) || made(entry.alias)));
    }
}

TEST_CASE("policies readme: has no row for a policy that is not there", "[readme]") {
    const std::string text = readme();
    std::size_t rows = 0;
    for (std::size_t at = text.find("\n| `"); at != std::string::npos;
         at = text.find("\n| `", at + 1)) {
        const std::size_t begin = at + 4;
        const std::string name = text.substr(begin, text.find('`', begin) - begin);
        CAPTURE(name);
        CHECK(find_policy(name) != nullptr);
        ++rows;
    }
    CHECK(rows == all_policies().size());
}
