// published_rows.hpp — results that others published beside what the simulator says, as tables for
// people and as one CSV for papers.
//
// Every row has a role. `input`: the simulation was given it. `from input`: it follows from what
// the simulation was given with little that the model adds. `fitted`: numbers of the model were
// chosen so that it comes out. `chosen after seeing`: not fitted, but what was fitted was chosen
// when a first choice had missed these rows. `of another machine`: what was simulated is not what
// was measured. `predicted`: none of these; only these say anything about the model, and only as
// far as they are better than a naive guess from the same inputs and fitted rows, which stands
// beside them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace published {

struct Row {
    std::string name;
    double published = 0;
    double simulated = 0;
    std::string role;
    std::optional<double> naive = std::nullopt;  // a guess without the model
    double error() const { return simulated / published - 1; }
};

class Tables {
public:
    // Prints the title, the rows (if `each`) and the mean error of each role, and keeps the rows.
    // `naive` says what their naive guess is.
    void add(const std::string& title, const std::string& table, const std::vector<Row>& rows,
             bool each = true, const std::string& naive = "");
    // Columns table, row, published, simulated, error, role, naive, naive_error; the last two are
    // empty where there is no guess.
    void write_csv(const std::filesystem::path& file) const;

private:
    struct Kept {
        std::string table;
        Row row;
    };
    std::vector<Kept> kept_;
};

double mean_error(const std::vector<Row>& rows, std::string_view role);  // of |error|; 0 for none
// Of the naive guesses of that role; nothing if one of its rows has none.
std::optional<double> mean_naive_error(const std::vector<Row>& rows, std::string_view role);

// Where the recorded data is: beside the checkout (../shared/data), or UKEMI_DATA.
std::filesystem::path shared(const std::filesystem::path& name);

struct Options {
    bool all = false;
    std::optional<std::filesystem::path> csv;
};
// [all] [--csv FILE]; says what is wrong and ends the program with 2 otherwise.
Options read_options(int argc, char** argv);

}  // namespace published
