// published_rows.hpp — what was published or recorded beside what a command says, as a table that a
// test prints: each row with its role and with what somebody would guess who has no model.
//
// Roles: `typed in` is what the scenario was given, `fitted` what a number of it was fitted to,
// `chosen after seeing` what was in sight when the form of a model was chosen, `predicted` the
// rest.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace ukemi {

struct PublishedRow {
    std::string name;
    double published = 0;
    double ours = 0;
    const char* role = "";
    double naive = 0;
    double margin = 0.1;  // of the published value; a negative one is printed and not held
};

inline void check_published(const std::string& title, const std::vector<PublishedRow>& rows) {
    fmt::print("\n{}\n  {:<34}{:>11}{:>11}{:>9}{:>9}  role\n", title, "", "published", "ours",
               "error", "naive");
    for (const PublishedRow& row : rows) {
        fmt::print("  {:<34}{:>11.5g}{:>11.5g}{:>+7.1f} %{:>+7.1f} %  {}\n", row.name,
                   row.published, row.ours, 100 * (row.ours / row.published - 1),
                   100 * (row.naive / row.published - 1), row.role);
        CAPTURE(row.name, row.published, row.ours);
        if (row.margin >= 0) CHECK(row.ours == Approx(row.published).epsilon(row.margin));
    }
}

}  // namespace ukemi
