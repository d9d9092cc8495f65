// atc, and omg by its other name: the compiler of offline models is a part of the library, which has the operators.
extern "C" int updraft_atc(int argc, const char* const* argv);

int main(int argc, char** argv) { return updraft_atc(argc, argv); }
