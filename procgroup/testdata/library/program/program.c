int Run(void);

int main(void) { return Run(); }
